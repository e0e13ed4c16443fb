"""`trimtab image share` and `partition`: a layer of several images, several images of one."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from handmade import entry, layer, oci_image
from machine_root import root_of_programs
from real_engine import address, needs_engine, running_engine

from trimtab.cli.verbs import command_line
from trimtab.errors import UserError
from trimtab.images.archives.image import Layer
from trimtab.images.archives.opening import open_image
from trimtab.images.merging import merged_view
from trimtab.images.node import FileType, Folder
from trimtab.images.view import View
from trimtab.processes.root import RootFileSystem
from trimtab.records.images.fleet import Fleet
from trimtab.records.manifest import Manifest

app = command_line()

PROJECT = Path(__file__).parents[3]
MISSED = "cat /srv/of_the_base; tar --version > /tmp/version && echo found"
ONCE = ("--runs", "1", "--settle", "1")
# Both use the base's shell; each another program of it, and a file of its own.
COMMANDS = {
    "sorted": 'printf "b\\na\\n" | sort | grep -v x; cat /srv/own',
    "counted": 'printf "b\\na\\n" | wc -l | grep -P "\\d"; cat /srv/own',
}
BASE_FILE = {"sorted": b"of the base ", "counted": b"another "}
OUTPUTS = {"sorted": b"a\nb\nof sorted\n", "counted": b"2\nof counted\n"}


def trimtab(*words: str | Path) -> None:
    app(list(map(str, words)), standalone_mode=False)


def config(name: str) -> dict[str, Any]:
    return {"Entrypoint": ["/bin/sh", "-c"], "Cmd": [COMMANDS[name]], "Labels": {"name": name}}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two images of one base, and a workspace of each, `sorted` and `counted`."""
    place = tmp_path_factory.mktemp("fleet")
    root = place / "root"
    root_of_programs(root, ["sh", "sort", "wc", "cat", "grep", "tar"])
    (root / "srv").mkdir()
    (root / "srv/of_the_base").write_text("of the base ")
    try:
        RootFileSystem(root).start(["/bin/sh", "-c", ":"], Path("/"), None).wait()
    except UserError as error:
        pytest.skip(f"no root can be entered: {error}")
    tar = ["tar", "--create", "--sort=name", "--directory", root, "."]
    base = subprocess.run(tar, check=True, stdout=subprocess.PIPE).stdout
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        for name in COMMANDS:
            own = [entry("srv/own", f"of {name}\n".encode())]
            if name == "counted":
                own.append(entry("srv/of_the_base", b"another "))
            image = oci_image(place / f"{name}.tar", base, layer(*own), config=config(name))
            trimtab("image", "slim", image, "--workspace", place / name, *ONCE)
    return place


@pytest.fixture(autouse=True)
def cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(place / "cache"))


@pytest.fixture(scope="module")
def fleet(place: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        trimtab("image", "share", place / "sorted", place / "counted", "--output", place / "fleet")
    return place / "fleet"


def files_of(view: View) -> set[str]:
    return {path for path, node in view.walk() if not isinstance(node, Folder)}


def test_they_share_a_layer_of_what_any_needs(place: Path, fleet: Path) -> None:
    images = {name: open_image(fleet / name / "slim.tar") for name in COMMANDS}
    common, own = zip(*(image.config.diff_ids for image in images.values()), strict=True)
    assert len(set(common)) == 1 and len(set(own)) == 2
    assert len({image.layers[0].digest for image in images.values()}) == 1
    for name, image in images.items():
        alone = merged_view(open_image(place / name / "slim.tar"))
        view = merged_view(image)
        assert files_of(alone) <= files_of(view)
        for program in ("sort", "wc", "cat"):
            found = view.find(f"/bin/{program}")
            assert found and found.node.layer == 0, program
        assert view.find("/bin/tar") is None
        own_file = view.find("/srv/own")
        assert own_file and own_file.node.layer == 1
        assert image.config.run() == open_image(place / f"{name}.tar").config.run()
        assert len([step for step in image.config.history() if not step.get("empty_layer")]) == 2
    alone = merged_view(open_image(place / "sorted/slim.tar"))
    assert alone.find("/bin/wc") is None


def test_libraries_come_out_alike(place: Path, fleet: Path) -> None:
    """One used less of grep's library than the other: both have what any used."""
    alone, together = (
        [Manifest.read(top / name / "manifest.json").files for name in COMMANDS]
        for top in (place, fleet)
    )
    assert together[0] == together[1]
    larger = max(
        alone[0].keys() & alone[1].keys(), key=lambda name: alone[0][name].size_before_bytes
    )
    assert alone[0][larger] != alone[1][larger]
    assert together[0][larger].size_after_bytes < together[0][larger].size_before_bytes
    for name in COMMANDS:
        found = merged_view(open_image(fleet / name / "slim.tar")).find(f"/{larger}")
        assert found and found.node.layer == 0


def test_each_is_what_was_built(fleet: Path) -> None:
    """Layers put on one another are the slim file system, owners and modes among it."""
    for name in COMMANDS:
        view = merged_view(open_image(fleet / name / "slim.tar"))
        for path, node in view.walk():
            at = fleet / name / "env" / path[1:]
            assert (at.is_symlink(), at.is_dir() and not at.is_symlink()) == (
                node.kind is FileType.LINK,
                node.kind is FileType.FOLDER,
            )
        env = fleet / name / "env"
        folders = {path for path in env.rglob("*") if path.is_dir() and not path.is_symlink()}
        inside = {f"/{path.relative_to(env)}" for path in {*env.rglob("*")} - folders}
        assert inside == files_of(view)


def test_the_workspaces_stay_and_the_same_again_is_the_same(
    place: Path, fleet: Path, tmp_path: Path
) -> None:
    before = (place / "sorted/slim.tar").read_bytes()
    trimtab("image", "share", place / "sorted", place / "counted", "--output", tmp_path / "again")
    assert (place / "sorted/slim.tar").read_bytes() == before
    for name in COMMANDS:
        again = open_image(tmp_path / "again" / name / "slim.tar")
        assert again.config.diff_ids == open_image(fleet / name / "slim.tar").config.diff_ids


def test_what_the_fleet_pulls_and_stores(place: Path, fleet: Path) -> None:
    """A layer of both counts once: against the sizes of the layers' own archives."""
    found = Fleet.read(fleet / "fleet.json")
    states = {
        "before": [place / f"{name}.tar" for name in COMMANDS],
        "alone": [place / name / "slim.tar" for name in COMMANDS],
        "sharing": [fleet / name / "slim.tar" for name in COMMANDS],
    }
    for name, archives in states.items():
        images = [open_image(archive) for archive in archives]
        sizes = [{layer.diff_id: stored_bytes(layer) for layer in image.layers} for image in images]
        state = getattr(found, name)
        every = sizes[0] | sizes[1]
        assert [state.images[key].stored_bytes for key in COMMANDS] == [
            sum(of_one.values()) for of_one in sizes
        ]
        assert (state.all.layers, state.all.stored_bytes) == (len(every), sum(every.values()))
        common = sizes[0].keys() & sizes[1].keys()
        assert state.common.layers == len(common) == (0 if name == "alone" else 1)
        assert state.common.stored_bytes == sum(every[layer] for layer in common)
        assert 0 < state.all.pulled_bytes < state.all.stored_bytes
    assert found.sharing.all.stored_bytes < found.alone.all.stored_bytes
    assert found.sharing.all.stored_bytes < found.before.all.stored_bytes


def test_the_workflows_script_makes_the_same(place: Path, fleet: Path, tmp_path: Path) -> None:
    """It has usages elsewhere, and may have several of a target."""
    usages = []
    for name in COMMANDS:
        usages.append(tmp_path / f"{name}.json")
        shutil.copy(place / name / "usage.json", usages[-1])
    stage = tmp_path / "stage.json"
    stage.write_text(json.dumps({"targets": {name: ["program"] for name in COMMANDS}}))
    command = [
        *(sys.executable, PROJECT / "scripts/share_images.py", "--config", stage),
        *("--manifests", *(place / name / "manifest.json" for name in COMMANDS)),
        *("--usages", *usages, "--output", tmp_path / "fleet"),
    ]
    subprocess.run(command, check=True, capture_output=True)
    assert Fleet.read(tmp_path / "fleet/fleet.json") == Fleet.read(fleet / "fleet.json")
    for name in COMMANDS:
        made = open_image(tmp_path / "fleet" / name / "slim.tar")
        assert made.config.diff_ids == open_image(fleet / name / "slim.tar").config.diff_ids


def stored_bytes(layer: Layer) -> int:
    return len(gzip.decompress(b"".join(layer.region.chunks())))


@needs_engine
def test_an_engine_has_the_layer_once(fleet: Path) -> None:
    with running_engine() as engine:
        docker = ["docker", "--host", address(engine)]
        layers = []
        for name, output in OUTPUTS.items():
            load = [*docker, "load", "--input", fleet / name / "slim.tar"]
            subprocess.run(load, check=True, capture_output=True, timeout=100)
            inspect = [*docker, "image", "inspect", "--format", "{{json .RootFS.Layers}}"]
            found = subprocess.run([*inspect, "image:slim"], check=True, capture_output=True)
            layers.append(json.loads(found.stdout))
            store = f"{fleet}/store:/trimtab/store:ro"
            run = [*docker, "run", "--rm", "--network", "none", "--volume", store, "image:slim"]
            for words in ([], [f"{COMMANDS[name]}; {MISSED}"]):
                ended = subprocess.run([*run, *words], capture_output=True, timeout=100)
                expected = output + BASE_FILE[name] + b"found\n" if words else output
                assert ended.stdout == expected, ended.stderr
    assert layers[0][0] == layers[1][0] and layers[0][1] != layers[1][1]


def test_what_is_no_fleet(place: Path, tmp_path: Path) -> None:
    output = ("--output", tmp_path / "fleet")
    with pytest.raises(UserError, match=r"no workspace of a slim image, .* is missing"):
        trimtab("image", "share", place / "sorted", tmp_path, *output)
    with pytest.raises(UserError, match="expected at least two images"):
        trimtab("image", "share", place / "sorted", *output)
    with pytest.raises(UserError, match="expected workspaces of different names"):
        trimtab("image", "share", place / "sorted", place / "sorted", *output)
    other = tmp_path / "other"
    shutil.copytree(place / "sorted", other, symlinks=True)
    stage = json.loads((other / "stage.json").read_text())
    stage["debloat"]["symbols"] = "keep"
    (other / "stage.json").write_text(json.dumps(stage))
    with pytest.raises(UserError, match="was made slim with other options"):
        trimtab("image", "share", place / "sorted", other, *output)
    assert not list((tmp_path / "fleet").glob("*/slim.tar"))


@pytest.fixture(scope="module")
def parts(place: Path) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(place / "cache"))
        trimtab("image", "partition", place / "sorted", "--output", place / "parts")
    return place / "parts"


def test_a_program_has_what_it_needs_and_no_other(place: Path, parts: Path) -> None:
    names = {path.parent.name for path in parts.glob("*/slim.tar")}
    assert names == {"dash", "sort", "grep", "cat"}
    whole = files_of(merged_view(open_image(place / "sorted/slim.tar")))
    for name in names:
        image = open_image(parts / name / "slim.tar")
        assert set(image.names) == {f"docker.io/library/image:slim-{name}"}
        run, before = image.config.run(), open_image(place / "sorted.tar").config.run()
        assert (run.entrypoint, run.command) == ((f"/usr/bin/{name}",), ())
        assert (run.labels, run.environment) == (before.labels, before.environment)
        found = files_of(merged_view(image))
        assert {path for path in found if path.startswith("/usr/bin/")} == {
            f"/usr/bin/{name}",
            *(["/usr/bin/sh"] if name == "dash" else []),
        }
        assert {path for path in found if not path.startswith("/trimtab/")} <= whole
        assert any("libpcre2" in path for path in found) == (name == "grep")
        assert "/srv/own" in found, "who of them read it is not known"


@needs_engine
def test_parts_run_alone_and_find_the_others_in_the_store(parts: Path) -> None:
    with running_engine() as engine:
        docker = ["docker", "--host", address(engine)]
        for name in ("sort", "dash"):
            load = [*docker, "load", "--input", parts / name / "slim.tar"]
            subprocess.run(load, check=True, capture_output=True, timeout=100)
        alone = [*docker, "run", "--rm", "--interactive", "--network", "none"]
        ended = subprocess.run([*alone, "image:slim-sort"], input=b"b\na\n", capture_output=True)
        assert ended.stdout == b"a\nb\n", ended.stderr
        store = ["--volume", f"{parts}/store:/trimtab/store:ro"]
        script = ["image:slim-dash", "-c", COMMANDS["sorted"]]
        ended = subprocess.run([*alone, *store, *script], capture_output=True)
        assert ended.stdout == OUTPUTS["sorted"], ended.stderr
