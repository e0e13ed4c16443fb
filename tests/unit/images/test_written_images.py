"""New images: whole, honest, the same every time, and what others read in them."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from handmade import entry, folder, gnu_tar, hard_link, layer, link, oci_image, sha256

from trimtab.errors import TrimtabError, UserError
from trimtab.images.archives.image import Image
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.extracting import extract
from trimtab.images.merging import merged_view
from trimtab.images.node import FileType
from trimtab.images.view import View
from trimtab.images.writing.image import WrittenImage, write_image
from trimtab.images.writing.reference import Reference

CAPABILITY = b"\x01\0\0\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\xff\xfe"
RUN = {
    "Entrypoint": ["/usr/bin/python"], "Cmd": ["-V"], "Env": ["A=b", "PATH=/usr/bin"],
    "User": "1000:1000", "Labels": {"maintainer": "somebody"}, "WorkingDir": "/work",
    "ExposedPorts": {"80/tcp": {}}, "Volumes": {"/data": {}}, "StopSignal": "SIGINT",
    "Healthcheck": {"Test": ["CMD", "true"], "Interval": 30_000_000_000},
}  # fmt: skip
LOWER = layer(
    folder("./", mode=0o755, mtime=7),
    folder("usr", mode=0o751, uid=3),
    folder("usr/bin"),
    entry("usr/bin/python", b"program" * 9000, mode=0o4755, mtime=1e9 + 0.125),
    hard_link("usr/bin/python3", "usr/bin/python"),
    link("bin", "usr/bin"),
    entry("usr/bin/ping", b"ping", pax_headers={
        "SCHILY.xattr.security.capability": CAPABILITY.decode("utf-8", "surrogateescape")}),
    entry("dropped", b"z" * 5000),
    folder("work", uid=1000, gid=1000),
)  # fmt: skip
UPPER = layer(
    entry("ü" * 80, b"long"), entry("null", kind=b"3", devmajor=1, devminor=3),
    entry("pipe", kind=b"6"), hard_link("third", "usr/bin/python"), entry(".wh.bin"),
    entry("huge-uid", b"", uid=3_000_000_000),
)  # fmt: skip


def made(tmp_path: Path) -> tuple[Image, View]:
    path = tmp_path / "image"
    if not path.exists():
        oci_image(path, LOWER, UPPER, config=RUN, variant="v2", author="x")
    image = open_image(path)
    return image, merged_view(image)


def write(tmp_path: Path, name: str = "slim", compression: Compression = Compression.ZSTD,
          kept: list[str] | None = None) -> WrittenImage:  # fmt: skip
    image, view = made(tmp_path)
    return write_image(image, view, tmp_path / name, name="demo:slim", compression=compression,
                       kept=kept)  # fmt: skip


def facts(image: Image, view: View) -> dict[str, Any]:
    """All that a view says, without where contents lie; those are by their digest elsewhere."""
    keys = ("kind", "mode", "uid", "gid", "mtime_ns", "size_bytes", "target", "device", "xattrs")
    names: dict[int, str] = {}
    return {
        path: (*(getattr(node, key) for key in keys), names.setdefault(id(node), path))
        for path, node in view.walk()
    }


@pytest.mark.parametrize("name", ["slim", "slim.tar"])
@pytest.mark.parametrize("compression", Compression)
def test_nothing_changes_but_the_layers(
    tmp_path: Path, name: str, compression: Compression
) -> None:
    written = write(tmp_path, name, compression)
    slim = open_image(tmp_path / name)
    assert "demo:slim" in {name.removeprefix("docker.io/library/") for name in slim.names}
    image, view = made(tmp_path)
    assert facts(slim, merged_view(slim)) == facts(image, view)
    assert slim.config.run() == image.config.run() and len(slim.layers) == 1
    assert slim.annotations == {"kept": "yes"}  # the base is no longer that of the layers
    kept = {key: value for key, value in image.config.document.values.items()
            if key not in ("rootfs", "history")}  # fmt: skip
    assert kept.items() <= slim.config.document.values.items()
    assert slim.layers[0].diff_id == written.layers[0].diff_id
    assert slim.layers[0].digest == written.layers[0].digest
    assert slim.layers[0].region.size_bytes == written.layers[0].size_bytes


def blob(folder: Path, digest: str) -> bytes:
    return (folder / "blobs" / digest.replace(":", "/")).read_bytes()


def test_digests_are_of_what_they_say(tmp_path: Path) -> None:
    written = write(tmp_path, compression=Compression.GZIP)
    packed = blob(tmp_path / "slim", written.layers[0].digest)
    plain = subprocess.run(["gzip", "-dc"], input=packed, check=True, stdout=-1, timeout=60).stdout
    assert (sha256(packed), sha256(plain)) == (written.layers[0].digest, written.layers[0].diff_id)
    assert written.layers[0].uncompressed_bytes == len(plain)
    for path in (tmp_path / "slim/blobs/sha256").iterdir():
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    manifest = json.loads(blob(tmp_path / "slim", written.manifest_digest))
    assert manifest["config"]["digest"] == written.config_digest
    index = json.loads((tmp_path / "slim/index.json").read_text())
    assert index["manifests"][0]["platform"]["variant"] == "v2"
    old = json.loads((tmp_path / "slim/manifest.json").read_text())
    assert old[0]["RepoTags"] == ["demo:slim"]
    assert sha256((tmp_path / "slim" / old[0]["Config"]).read_bytes()) == written.config_digest


def test_the_history_is_honest(tmp_path: Path) -> None:
    """As many entries with a layer as there are layers, as engines check."""
    written = write(tmp_path)
    config = json.loads(blob(tmp_path / "slim", written.config_digest))
    *earlier, last = config["history"]
    assert [entry["created_by"] for entry in earlier] == ["step 0", "step 1"]
    assert all(entry["empty_layer"] for entry in earlier) and "empty_layer" not in last
    assert "the 2 layers above" in last["comment"] and last["created"] == config["created"]
    assert config["rootfs"]["diff_ids"] == [written.layers[0].diff_id]


def test_gnu_tar_reads_the_layer(tmp_path: Path) -> None:
    written = write(tmp_path, compression=Compression.NONE)
    path = tmp_path / "slim/blobs" / written.layers[0].digest.replace(":", "/")
    listed = gnu_tar("--numeric-owner", "--full-time", "-tvf", path).decode()
    assert "drwxr-x--x 3/0" in listed and "crw-r--r-- 0/0" in listed and "3000000000/0" in listed
    assert "2001-09-09 01:46:40.125 usr/bin/python" in listed
    assert "usr/bin/python link to third" in listed  # by name, whichever was first in the original
    with tarfile.open(path) as archive:
        capability = archive.getmember("usr/bin/ping").pax_headers[
            "SCHILY.xattr.security.capability"
        ]
        assert capability.encode("utf-8", "surrogateescape") == CAPABILITY
        assert archive.extractfile("third").read() == b"program" * 9000  # type: ignore[union-attr]


@pytest.mark.skipif(not shutil.which("skopeo"), reason="there is no skopeo")
@pytest.mark.parametrize("compression", [Compression.NONE, Compression.GZIP])
def test_skopeo_reads_it(tmp_path: Path, compression: Compression) -> None:
    """As what it is for new engines, and as what it is for old ones; and we read what it wrote."""
    write(tmp_path, "slim.tar", compression)
    image, view = made(tmp_path)
    for source, copy in (("oci-archive:slim.tar", "docker-archive:old.tar:demo:1"),
                         ("docker-archive:slim.tar", "oci:new:demo")):  # fmt: skip
        subprocess.run(["skopeo", "--insecure-policy", "copy", "-q", source, copy], check=True,
                       cwd=tmp_path, timeout=60)  # fmt: skip
    for name in ("old.tar", "new"):
        copied = open_image(tmp_path / name)
        assert facts(copied, merged_view(copied)) == facts(image, view)
        assert copied.config.run() == image.config.run()


@pytest.mark.skipif(not shutil.which("umoci") or os.geteuid() != 0, reason="there is no umoci")
def test_umoci_unpacks_it_as_we_do(tmp_path: Path) -> None:
    write(tmp_path, "slim", Compression.GZIP)
    slim = open_image(tmp_path / "slim")
    left_out = extract(slim, merged_view(slim), tmp_path / "ours")
    subprocess.run(["umoci", "unpack", "--image", "slim:docker.io/library/demo:slim", "theirs"],
                   check=True, cwd=tmp_path, timeout=60)  # fmt: skip
    assert not left_out.devices + left_out.owners
    found = [listing(tmp_path / name) for name in ("ours", "theirs/rootfs")]
    assert found[0] == found[1]


def listing(top: Path) -> dict[str, Any]:
    return {
        str(path.relative_to(top)): (
            status.st_mode, status.st_uid, status.st_gid, status.st_nlink, status.st_mtime,
            path.read_bytes() if path.is_file() else None, os.listxattr(path),
        )
        for path in top.rglob("*")
        for status in [path.lstat()]
    }  # fmt: skip


@pytest.mark.parametrize("compression", Compression)
def test_the_same_every_time(tmp_path: Path, compression: Compression) -> None:
    """Wherever it is written, in whatever order paths are kept, and however layers are packed."""
    kept = ["/usr/bin/python", "/third", "/null", "/" + "ü" * 80]
    first = write(tmp_path, "one.tar", compression, kept)
    assert write(tmp_path, "two.tar", compression, kept[::-1] + kept) == first
    assert write(tmp_path, "three", compression, kept) == first
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "two.tar").read_bytes()
    shutil.rmtree(tmp_path / "image")
    (tmp_path / "one.tar").rename(tmp_path / "image")
    image = open_image(tmp_path / "image")
    again = write_image(image, merged_view(image), tmp_path / "four", name="x",
                        compression=compression)  # fmt: skip
    assert again.layers == first.layers


def test_a_part(tmp_path: Path) -> None:
    write(tmp_path, kept=["/third", "/usr/bin/ping"])
    slim = open_image(tmp_path / "slim")
    view = merged_view(slim)
    assert [path for path, _ in view.walk()] == ["/", "/third", "/usr", "/usr/bin", "/usr/bin/ping"]
    assert view.root.children["usr"].mode == 0o751
    assert view.root.children["third"].size_bytes == 63_000
    write(tmp_path, kept=[])
    assert [path for path, _ in merged_view(open_image(tmp_path / "slim")).walk()] == ["/"]


def test_an_image_of_nothing(tmp_path: Path) -> None:
    image = open_image(oci_image(tmp_path / "image"))
    view = merged_view(image)
    write_image(image, view, tmp_path / "slim", name="a", compression=Compression.GZIP)
    slim = open_image(tmp_path / "slim")
    assert [path for path, _ in merged_view(slim).walk()] == ["/"]
    assert extract(slim, view, tmp_path / "out").devices == []


def test_local_files(tmp_path: Path) -> None:
    image, view = made(tmp_path)
    (tmp_path / "new").write_bytes(b"slim")
    view.put_file("/third", tmp_path / "new")
    view.put_file("/run/added", tmp_path / "new")
    write_image(image, view, tmp_path / "slim", name="a", compression=Compression.NONE)
    found = dict(merged_view(open_image(tmp_path / "slim")).walk())
    assert found["/usr/bin/python"].size_bytes == found["/run/added"].size_bytes == 4
    assert found["/usr/bin/python"].mode == 0o4755 and found["/run"].kind is FileType.FOLDER
    (tmp_path / "new").write_bytes(b"much longer")
    with pytest.raises(TrimtabError, match="was changed"):
        write_image(image, view, tmp_path / "slim2", name="a", compression=Compression.NONE)
    assert not (tmp_path / "slim2").exists()


def test_sparse_files_stay_small(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.seek(1 << 34)
        file.write(b"end")
    data = gnu_tar("-C", tmp_path, "--format=gnu", "-S", "-c", "sparse")
    image = open_image(oci_image(tmp_path / "image", data))
    written = write_image(image, merged_view(image), tmp_path / "slim", name="a",
                          compression=Compression.NONE)  # fmt: skip
    assert written.layers[0].uncompressed_bytes < 20_000
    out = tmp_path / "out"
    out.mkdir()
    path = tmp_path / "slim/blobs" / written.layers[0].digest.replace(":", "/")
    gnu_tar("-C", out, "-xf", path)
    assert (out / "sparse").stat().st_size == (1 << 34) + 3
    with (out / "sparse").open("rb") as file:
        file.seek(1 << 34)
        assert file.read() == b"end"


def test_contents_of_many_pieces(tmp_path: Path) -> None:
    """Contents around the sizes that are read at once, taken in another order than they lie in."""
    draw = random.Random(4)
    sizes = [0, 1, 511, 512, 513, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1_000_003]
    files = {f"{number:02}": draw.randbytes(size) for number, size in enumerate(sizes)}
    lower = layer(*(entry(name, data) for name, data in reversed(files.items())))
    files["03"] = draw.randbytes(777)
    image = open_image(oci_image(tmp_path / "image", lower, layer(entry("03", files["03"]))))
    for compression in Compression:
        write_image(image, merged_view(image), tmp_path / "slim.tar", name="a",
                    compression=compression)  # fmt: skip
        (tmp_path / "slim.tar").rename(tmp_path / f"{compression}.tar")
        image = open_image(tmp_path / f"{compression}.tar")
    with tarfile.open(tmp_path / "none.tar") as archive:
        name = next(info.name for info in archive if info.size > 1_000_000)
        with tarfile.open(fileobj=archive.extractfile(name)) as inner:
            found = {info.name: inner.extractfile(info).read() for info in inner}  # type: ignore[union-attr]
    assert found == files


def test_the_original_stays(tmp_path: Path) -> None:
    image, view = made(tmp_path)
    (tmp_path / "alias").symlink_to("image")
    for place in ("image", "image/slim", "alias", "."):
        with pytest.raises(UserError, match="in the place of the original"):
            write_image(image, view, tmp_path / place, name="a", compression=Compression.NONE)


def test_an_original_that_changes_meanwhile(tmp_path: Path) -> None:
    image, view = made(tmp_path)
    path = image.layers[0].region.path
    path.write_bytes(path.read_bytes())
    (tmp_path / "slim.tar").write_bytes(b"earlier")
    with pytest.raises(UserError, match="was written to while"):
        write_image(image, view, tmp_path / "slim.tar", name="a", compression=Compression.NONE)
    assert (tmp_path / "slim.tar").read_bytes() == b"earlier"
    assert sorted(os.listdir(tmp_path)) == ["image", "slim.tar"]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("demo", "docker.io/library/demo:latest"),
        ("me/demo:1.0_a", "docker.io/me/demo:1.0_a"),
        ("localhost/demo", "localhost/demo:latest"),
        ("localhost:5000/a/b:c", "localhost:5000/a/b:c"),
        ("registry.example.org/a", "registry.example.org/a:latest"),
    ],
)
def test_names(text: str, whole: str) -> None:
    assert Reference.parse(text).whole == whole


@pytest.mark.parametrize("text", ["", "UPPER", "a b", "a:", "../a", "a//b", "a:b:c", "a" * 300,
                                  "a@sha256:0", "-a", "a\n"])  # fmt: skip
def test_names_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match="no name of an image"):
        Reference.parse(text)
