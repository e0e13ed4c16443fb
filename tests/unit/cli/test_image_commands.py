"""`trimtab image`: whatever is wrong with what was given ends in one error; the original stays."""

import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from failing_engine import engine_that
from handmade import Blobs, config_of, entry, layer, oci_image, save
from machine_root import root_of_programs, tar_of_entered
from real_engine import SCRIPT, address, import_root, needs_engine, running_engine
from test_kept_libraries import LIBRARY

from trimtab.cli.verbs import command_line
from trimtab.errors import TrimtabError, UserError
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression, compression_of
from trimtab.images.engine import EngineError
from trimtab.images.merging import merged_view
from trimtab.locks import folder_lock
from trimtab.processes.root import RootFileSystem
from trimtab.profiling.images import unpacked
from trimtab.profiling.tracing.function_records import LEFT_ALONE
from trimtab.records.images.comparison import ImageComparison
from trimtab.records.usage import Usage

app = command_line()

CONFIG = {"Entrypoint": ["/bin/sh", "-c"], "Cmd": ["echo b; echo a | sort"], "WorkingDir": "/tmp"}
ONCE = ("--runs", "1", "--settle", "1")


def can_enter(root: Path) -> str:
    """Return why programs cannot run in a root here, or nothing."""
    try:
        with Path(os.devnull).open("wb") as nowhere:
            RootFileSystem(root).start(
                ["/bin/sh", "-c", ":"], Path("/"), None, stdout=nowhere
            ).wait()
    except UserError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The only layer of an image of this machine's shell, sort, tar and wc."""
    root = tmp_path_factory.mktemp("root") / "root"
    root_of_programs(root, ["sh", "sort", "tar", "wc"])
    if problem := can_enter(root):
        pytest.skip(f"no root can be entered: {problem}")
    tar = ["tar", "--create", "--directory", root, "."]
    return subprocess.run(tar, check=True, stdout=subprocess.PIPE).stdout


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def image(data: bytes, here: Path) -> Callable[..., str]:
    def make(**config: Any) -> str:
        return str(oci_image(here / "demo.tar", data, config={**CONFIG, **config}))

    return make


def trimtab(*words: str) -> None:
    app(list(words), standalone_mode=False)


def digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def refused(match: str, kind: type[Exception], *words: str, original: str) -> None:
    """See to it that `trimtab image slim` ends in one error and leaves nothing but the original."""
    before = digest(original)
    with pytest.raises(kind, match=match) as error:
        trimtab("image", "slim", original, *words)
    assert str(error.value)
    assert digest(original) == before
    assert not Path("trimtab_workspace/slim.tar").exists()
    assert not Path("trimtab_workspace/env").exists()


def test_an_image_without_any_engine(image: Callable[..., str], here: Path) -> None:
    original = image(Healthcheck={"Test": ["CMD", "wc", "-l"]})
    before = digest(original)
    trimtab("image", "slim", original, *ONCE)
    assert digest(original) == before
    slim = open_image(here / "trimtab_workspace/slim.tar")
    run = slim.config.run()
    assert run.labels == {"dev.trimtab.version": version("trimtab")}
    assert replace(run, labels={}) == open_image(here / "demo.tar").config.run()
    view = merged_view(slim)
    assert view.find("/usr/bin/tar") is None and view.find("/bin/sort") is not None
    assert view.find("/usr/bin/wc") is not None  # for the health check
    trimtab("image", "compare", original, "trimtab_workspace/slim.tar", "--output", "both.json")
    both = ImageComparison.read(here / "both.json")
    assert "/usr/bin/tar" in {file.path for file in both.removed}
    assert both.before.name == original
    env = "trimtab_workspace/env"  # what the archive was made of
    trimtab("image", "compare", original, env, "--output", "folder.json")
    folder = ImageComparison.read(here / "folder.json")
    assert (folder.removed, folder.after.files) == (both.removed, both.after.files)
    assert (folder.after.name, folder.after.file_bytes) == (env, both.after.file_bytes)


def test_an_image_of_an_engine_is_learned_without_the_engine(
    image: Callable[..., str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workspace has what was saved: the name may mean another image by now."""
    trimtab("image", "slim", original := image(), "--runs", "1", "--settle", "0")
    workspace = here / "trimtab_workspace"
    for name in ("stage.json", "workload.json"):  # as they are of an image that an engine has
        text = (workspace / name).read_text()
        assert original in text
        (workspace / name).write_text(text.replace(original, "demo:1"))
    line = {"pid": 1, "time_s": 1.0, "file": "usr/bin/tar", "kind": "file"}
    (here / "record").write_text(json.dumps(line) + "\n")
    trimtab("advanced", "learn", "--record", "record")
    slim = open_image(workspace / "slim.tar")
    assert merged_view(slim).find("/usr/bin/tar") is not None
    assert slim.config.run().labels["dev.trimtab.original"] == "demo:1"
    monkeypatch.setattr(unpacked, "_archives", {})  # as in another process
    trimtab("verify", "--repeats", "1")


def test_what_a_container_made_up_is_skipped(
    image: Callable[..., str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line of each kind; the others count."""
    trimtab("image", "slim", image(), "--runs", "1", "--settle", "0")
    index = f"r.org/demo@sha256:{'0' * 64}"
    of_file = {"pid": 1, "time_s": 1.0, "file": "usr/bin/tar", "kind": "file"}
    of_call = {"pid": 1, "time_s": 1.0, "library": "usr/bin/tar", "address": 0, "function": ""}
    pieces = [{**of_file, "file": "usr/bin/none"}, {**of_call, "address": (1 << 32) - 1}, {}]
    lines = [json.dumps({"index": index, "piece": each}) for each in pieces]
    (here / "misses").write_text("\n".join([*lines, "no json", ""]))
    before = digest("trimtab_workspace/slim.tar")
    with pytest.raises(UserError, match="4 lines of misses name nothing of this image"):
        trimtab("advanced", "learn", "--from", "misses")
    assert digest("trimtab_workspace/slim.tar") == before
    with (here / "misses").open("a") as file:
        file.write(json.dumps({"index": index, "piece": of_file}) + "\n")
    capsys.readouterr()
    trimtab("advanced", "learn", "--from", "misses")
    assert "4 lines of misses name nothing of this image: skipped\n" in capsys.readouterr().err
    slim = merged_view(open_image(here / "trimtab_workspace/slim.tar"))
    assert slim.find("/usr/bin/tar") is not None


def test_a_library_that_is_kept(here: Path, tmp_path: Path) -> None:
    """It is byte for byte as it was, and no function of it was traced; the other one is slim."""
    root = tmp_path / "root"
    root_of_programs(root, ["sh"])
    (root / "opt").mkdir()
    for name in ("kept", "other"):
        source = LIBRARY.replace("used", f"used_{name}").encode()
        library = ["gcc", "-O1", "-shared", "-fPIC", "-xc", "-", "-o", root / f"opt/lib{name}.so"]
        subprocess.run(library, input=source, check=True)
    program = b"int used_kept(int), used_other(int); int main() { used_kept(used_other(1)); }"
    links = [f"-L{root}/opt", "-lkept", "-lother", "-Wl,-rpath,/opt", "-o", root / "opt/program"]
    subprocess.run(["gcc", "-xc", "-", *links], input=program, check=True)
    config = {"Entrypoint": ["/opt/program"]}
    image = str(oci_image(here / "own.tar", tar_of_entered(root), config=config))
    trimtab("image", "slim", image, *ONCE, "--keep-library", "opt/libkept.so")
    usage = Usage.read(Path("trimtab_workspace/usage.json"))
    traced = {Path(each.path).name: each for each in usage.libraries}
    assert LEFT_ALONE in traced["libkept.so"].not_traced_because
    assert traced["libother.so"].functions_used
    slim = Path("trimtab_workspace/env/opt")
    for name, is_same in (("libkept.so", True), ("libother.so", False)):
        assert ((slim / name).read_bytes() == (root / "opt" / name).read_bytes()) is is_same


@pytest.mark.parametrize(
    ("config", "words", "match"),
    [
        ({"User": "nobody-there"}, (), "nobody-there: there is no such user"),
        ({}, ("--user", "x:y"), "x:y: there is no such user"),
        ({"Entrypoint": None, "Cmd": None}, (), "neither an entrypoint nor a command"),
        ({"Entrypoint": ["/bin/missing"]}, (), "/bin/missing was not found as a program"),
        ({"WorkingDir": "/missing"}, (), "/missing is not a folder"),
        ({}, ("--workspace", "demo.tar"), "demo.tar: not a folder; name another"),
        ({}, ("--keep-paths", "/nothing/**"), "keep_paths: '/nothing/.*' given, expected a path"),
        ({}, ("--remove", "code", "--keep", "shell"), "--keep: .* none with remove"),
        ({"Cmd": ["echo no >&2; exit 3"]}, ONCE, "exit code 3"),
        ({"Cmd": ["kill -9 $$"]}, ONCE, "signal 9"),
        ({"Cmd": ["sleep() { while :; do :; done; }; sleep"]}, ("--timeout-s", "0.3"), "0.3"),
        ({}, ("--fallback", "original"), "expected packed"),
        ({}, ("--mode", "punch"), "--remove: 'files' given, expected code"),
    ],
)  # fmt: skip
def test_what_is_refused(
    config: dict[str, Any], words: tuple[str, ...], match: str, image: Callable[..., str]
) -> None:
    refused(match, UserError, *words, original=image(**config))


def test_an_image_for_another_processor(data: bytes, here: Path) -> None:
    other = oci_image(here / "demo.tar", data, architecture="arm64", config=CONFIG)
    refused(r"demo\.tar: is for linux/arm64; expected an image", UserError, original=str(other))


def test_an_archive_of_two_images(data: bytes, here: Path) -> None:
    blobs = Blobs()
    names = "io.containerd.image.name"
    every = [
        blobs.manifest([data], config=config_of([data], author=name), annotations={names: name})
        for name in ("one:1", "two:1")
    ]
    blobs.index(*every)
    both = save(here / "both.tar", blobs.files)
    refused(
        r"both\.tar: has 2 images \(one:1, two:1\); expected one", UserError, original=str(both)
    )


def test_what_is_kept_by_choice(image: Callable[..., str], here: Path) -> None:
    words = ("--keep-paths", "/usr/bin/ta?", "--compression", "zstd", "--package-database", "drop")
    trimtab("image", "slim", image(), *ONCE, *words)
    slim = open_image(here / "trimtab_workspace/slim.tar")
    assert merged_view(slim).find("/usr/bin/tar")
    with slim.layers[0].region.open() as file:
        file.seek(slim.layers[0].region.offset)
        assert compression_of(file.read(8)) is Compression.ZSTD


def test_no_image(here: Path) -> None:
    (here / "text.tar").write_text("no image")
    refused(r"text\.tar: ", UserError, original=str(here / "text.tar"))
    for words in (("slim", "demo:1"), ("compare", "demo:1", str(here / "text.tar"))):
        with pytest.raises(UserError, match="no engine answers"):
            trimtab("image", *words)


def test_an_engine_that_is_full(
    image: Callable[..., str], here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("docker", reason="the docker SDK is not installed")
    archive = Path(image())
    with engine_that("has no space", archive.read_bytes()) as there:
        monkeypatch.setenv("DOCKER_HOST", there)
        archive.unlink()
        with pytest.raises(EngineError, match=r"slim\.tar: cannot be loaded .* no space left"):
            trimtab("image", "slim", "demo:1", *ONCE)
    slim = open_image(here / "trimtab_workspace/slim.tar")  # which is whole
    assert set(slim.names) == {"docker.io/library/demo:slim"}


@needs_engine
def test_an_engine_that_is_gone_when_the_slim_image_is_there(
    data: bytes, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped by what compares the runs' outputs."""
    (here / "root").mkdir()
    subprocess.run(["tar", "--extract", "--directory", here / "root"], input=data, check=True)
    with running_engine() as own:
        import_root(own, here / "root", "small:1", 'ENTRYPOINT ["/bin/sh", "-c"]')
        monkeypatch.setenv("DOCKER_HOST", address(own))
        gone = ("--compare-command", shlex.join([str(SCRIPT), "stop", str(own)]))
        with pytest.raises(EngineError, match=r"no engine answers .* whole: `docker load --input"):
            trimtab("image", "slim", "small:1", *ONCE, *gone, "--", "echo b; echo a | sort")
    assert merged_view(open_image(here / "trimtab_workspace/slim.tar")).find("/bin/sort")


def test_a_workspace_where_another_is_at_work(image: Callable[..., str], here: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from trimtab.locks import folder_lock\n"
        "with folder_lock(Path('trimtab_workspace')): print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1) as other:
        assert other.stdout and other.stdout.readline()
        refused(f"another trimtab .*{other.pid}", UserError, original=image())
        other.communicate()
    with folder_lock(here / "trimtab_workspace"):
        pass


def test_the_original_in_the_place_of_the_result(data: bytes, here: Path) -> None:
    (here / "trimtab_workspace").mkdir()
    original = str(oci_image(here / "trimtab_workspace/slim.tar", data, config=CONFIG))
    before = digest(original)
    with pytest.raises(UserError, match="would take the place of the original"):
        trimtab("image", "slim", original)
    assert digest(original) == before


def test_no_space_for_the_result(image: Callable[..., str], here: Path) -> None:
    """On a disk that takes the traces and not the slim file system."""
    if os.geteuid() != 0:
        pytest.skip("a file system is mounted by root only")
    original = image()
    before = digest(original)
    (here / "small").mkdir()
    code = "from trimtab.cli.main import main; main()"
    script = (
        'mount -t tmpfs -o size=1500k none small || exit 99; "$@"; ended=$?;'
        " ls small >&2; exit $ended"
    )
    words = ["image", "slim", original, "--workspace", "small/workspace", *ONCE]
    command = ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-c", code, *words]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=100)
    if "unshare" in ran.stderr or ran.returncode == 99:
        pytest.skip(f"no file system can be mounted: {ran.stderr.strip()}")
    assert ran.returncode == 1 and "No space left on device" in ran.stderr, ran.stderr
    assert digest(original) == before


def test_an_image_that_changes_meanwhile(here: Path) -> None:
    """Of what was extracted once, its layers are read again where the slim image is written."""
    first = layer(entry("file", b"first"))
    path = oci_image(here / "image", first, config=config_of([first])["config"])
    trimtab("image", "compare", str(path), str(path))
    [blob] = [
        each for each in (path / "blobs/sha256").iterdir() if each.read_bytes()[:2] == b"\x1f\x8b"
    ]
    blob.write_bytes(blob.read_bytes()[:-8] + bytes(8))
    with pytest.raises(TrimtabError, match="image: layer 1 of 1"):
        trimtab("image", "compare", str(path), str(path))
