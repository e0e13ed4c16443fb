"""The slim image: what of the original's layers the slim file system still has, and what is new."""

import gzip
import io
import json
import os
import tarfile
from importlib.metadata import version
from pathlib import Path

import pytest
from hand_made_root import elf
from handmade import Entry, entry, folder, hard_link, layer, link, oci_image, save

from trimtab.debloating.images.packing import pack, slim_name, started
from trimtab.errors import TrimtabError, UserError
from trimtab.images.archives.opening import open_image
from trimtab.images.extracting import extract
from trimtab.images.merging import merged_view
from trimtab.processes.root import INIT, STARTED_BY_INIT
from trimtab.profiling.images.unpacked import Unpacked

MEMBERS: list[Entry] = [
    folder("etc", mode=0o711, uid=7),
    entry("etc/kept", b"kept", mode=0o640, uid=33, gid=44),
    entry("etc/preload", b"theirs", mode=0o600, uid=3),
    entry("etc/removed", b"removed"),
    hard_link("etc/same", "etc/kept"),
    link("etc/link", "/nowhere"),
    entry("lib/big.so", b"b" * 9000, mode=0o4755, uid=5),
    entry("trimtab/earlier", b"of an earlier time"),
    folder("empty"),
]
RUNS = {"Env": ["PATH=/bin"], "Cmd": ["/bin/x"], "User": "33", "Volumes": {"/data": {}},
        "Healthcheck": {"Test": ["NONE"]}, "Labels": {"a": "b"}}  # fmt: skip
SLIM = {**RUNS, "Labels": {"a": "b", "dev.trimtab.version": version("trimtab")}}


@pytest.fixture
def original(tmp_path: Path) -> Unpacked:
    image = open_image(oci_image(tmp_path / "original.tar", layer(*MEMBERS), config=RUNS))
    extract(image, merged_view(image), tmp_path / "root")
    return Unpacked(image, tmp_path / "root")


@pytest.fixture
def slim(original: Unpacked, tmp_path: Path) -> Path:
    """A slim file system as another one than its owner may have made it: names and contents."""
    top = tmp_path / "slim"
    for name in ("etc", "lib", "empty", "trimtab/removed"):
        (top / name).mkdir(parents=True)
    (top / "etc/kept").write_bytes(b"kept")
    (top / "etc/preload").write_bytes(b"ours, theirs")
    os.utime(top / "etc/kept", (1_600_000_000,) * 2)
    (top / "etc/same").hardlink_to(top / "etc/kept")
    (top / "etc/link").symlink_to("/nowhere")
    (top / "lib/big.so").write_bytes(b"small")
    (top / "trimtab/fallback.so").write_bytes(b"new")
    (top / "trimtab/fallback.so").chmod(0o700)
    (top / "trimtab/removed/list").write_bytes(b"what went")
    return top


def members_of(
    path: Path,
) -> tuple[dict[str, tarfile.TarInfo], dict[str, bytes], dict[str, object]]:
    """Return the members of the only layer, their contents, and the config, by other readers."""
    with tarfile.open(path) as archive:

        def read(name: str) -> bytes:
            file = archive.extractfile(name)
            assert file
            return file.read()

        [manifest] = json.loads(read("manifest.json"))
        [name] = manifest["Layers"]
        packed = gzip.decompress(read(name))
        config = json.loads(read(manifest["Config"]))
        config["names"] = manifest["RepoTags"]
    with tarfile.open(fileobj=io.BytesIO(packed)) as inner:
        infos = {info.name: info for info in inner}
        files = {info.name: inner.extractfile(info) for info in inner if info.isreg()}
        return infos, {name: file.read() for name, file in files.items() if file}, config


def test_the_original_says_what_a_path_is(original: Unpacked, slim: Path, tmp_path: Path) -> None:
    pack(original, slim, {"lib/big.so"}, tmp_path / "slim.tar")
    infos, contents, config = members_of(tmp_path / "slim.tar")
    assert contents == {
        "etc/kept": b"kept",
        "etc/preload": b"ours, theirs",
        "lib/big.so": b"small",
        "trimtab/fallback.so": b"new",
        "trimtab/removed/list": b"what went",
    }
    assert not {"etc/removed", "trimtab/earlier"} & infos.keys()
    facts = {name: (info.mode, info.uid, info.gid, info.mtime) for name, info in infos.items()}
    assert facts["etc"] == (0o711, 7, 0, 1_600_000_000)
    assert facts["etc/kept"] == (0o640, 33, 44, 1_600_000_000)
    assert facts["etc/preload"] == (0o600, 3, 0, 1_600_000_000)
    assert facts["lib/big.so"] == (0o4755, 5, 0, 1_600_000_000)
    assert facts["trimtab/fallback.so"][:3] == (0o755, 0, 0)
    assert facts["trimtab/removed/list"][:3] == (0o644, 0, 0)
    assert infos["etc/same"].islnk() and infos["etc/same"].linkname == "etc/kept"
    assert infos["etc/link"].issym() and infos["etc/link"].linkname == "/nowhere"
    assert infos["empty"].isdir()
    assert config["config"] == SLIM and config["names"] == ["image:slim"]


def test_the_same_image_whenever_and_wherever(
    original: Unpacked, slim: Path, tmp_path: Path
) -> None:
    first = pack(original, slim, {"lib/big.so"}, tmp_path / "slim.tar")
    moved = tmp_path / "elsewhere"
    slim.rename(moved)
    for path in (moved / "etc/preload", moved / "trimtab/fallback.so"):
        os.utime(path, (1, 1))
    (moved / "trimtab").chmod(0o700)
    assert pack(original, moved, {"lib/big.so"}, tmp_path / "again.tar") == first
    assert (tmp_path / "slim.tar").read_bytes() == (tmp_path / "again.tar").read_bytes()


def test_a_new_link_is_none_of_ours(original: Unpacked, slim: Path, tmp_path: Path) -> None:
    (slim / "etc/new").symlink_to("kept")
    with pytest.raises(TrimtabError, match="etc/new: new in the slim file system"):
        pack(original, slim, set(), tmp_path / "slim.tar")
    assert not (tmp_path / "slim.tar").exists()


def named(tmp_path: Path, names: list[str], engine_name: str | None) -> Unpacked:
    path = oci_image(tmp_path / "plain", layer(*MEMBERS))
    files = {str(file.relative_to(path)): file.read_bytes()
             for file in path.rglob("*") if file.is_file()}  # fmt: skip
    index = json.loads(files["index.json"])
    [manifest] = index["manifests"]
    key = "io.containerd.image.name"
    index["manifests"] = [{**manifest, "annotations": {key: name}} for name in names] or [manifest]
    files["index.json"] = json.dumps(index).encode()
    return Unpacked(open_image(save(tmp_path / "named", files)), tmp_path, engine_name)


@pytest.mark.parametrize(
    ("names", "engine_name", "expected"),
    [
        ([], None, "image:slim"),
        (["docker.io/library/demo:1"], None, "docker.io/library/demo:slim"),
        ([], "demo", "demo:slim"),
        ([], "registry.example:5000/team/demo:2.0", "registry.example:5000/team/demo:slim"),
        (["demo:3"], "sha256:" + "a" * 64, "demo:slim"),
        (["demo:3"], "a1b2c3d4e5f6", "demo:slim"),
        ([], "demo@sha256:" + "a" * 64, "image:slim"),
        (["demo:slim"], None, "demo:slim"),
    ],
)
def test_the_name_of_a_slim_image(
    names: list[str], engine_name: str | None, expected: str, tmp_path: Path
) -> None:
    assert slim_name(named(tmp_path, names, engine_name)) == expected


def test_the_name_of_the_original_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"demo:slim: .*`docker tag demo:slim demo:before`"):
        slim_name(named(tmp_path, [], "demo:slim"))


@pytest.mark.parametrize("entrypoint", [["/bin/serve", "-x"], []])
def test_what_starts_programs_comes_before_the_entrypoint(
    tmp_path: Path, original: Unpacked, slim: Path, entrypoint: list[str]
) -> None:
    config = {**RUNS, "Entrypoint": entrypoint}
    image = open_image(oci_image(tmp_path / "another.tar", layer(*MEMBERS), config=config))
    (slim / STARTED_BY_INIT).write_bytes(b"")
    pack(Unpacked(image, original.root), slim, set(), tmp_path / "slim.tar")
    expected = {**SLIM, "Entrypoint": ["/trimtab/init", *entrypoint]}
    assert members_of(tmp_path / "slim.tar")[2]["config"] == expected
    slim_image = open_image(tmp_path / "slim.tar")
    assert started(slim_image, slim) is slim_image  # once is enough
    (slim / STARTED_BY_INIT).unlink()
    assert started(image, slim) is image


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (["CMD", "/bin/x", "-a b"], ["CMD", "/trimtab/init", "/bin/x", "-a b"]),
        (["CMD-SHELL", "x; y"], ["CMD", "/trimtab/init", "/bin/x", "-e", "-c", "x; y"]),
        (["CMD", "/etc/kept"], ["CMD", "/etc/kept"]),
    ],
)
def test_what_starts_programs_comes_before_the_health_check(
    tmp_path: Path, slim: Path, test: list[str], expected: list[str]
) -> None:
    check = {"Test": test, "Interval": 10**9}
    config = {**RUNS, "Shell": ["/bin/x", "-e", "-c"], "Healthcheck": check}
    image = open_image(oci_image(tmp_path / "another.tar", layer(*MEMBERS), config=config))
    (slim / "bin").mkdir()
    (slim / "bin/x").write_bytes(elf())
    assert started(image, slim) is image  # what would start it is not there
    (slim / INIT).write_bytes(b"")
    with_init = started(image, slim)
    values = dict(with_init.config.document.object("config").values)
    assert values == {**config, "Healthcheck": {**check, "Test": expected}}
    assert started(with_init, slim) is with_init
