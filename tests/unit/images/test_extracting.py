"""A view on disk: as far as the user may, and nowhere else."""

import io
import os
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from handmade import entry, folder, gnu_tar, hard_link, layer, link, oci_image

from trimtab.errors import TrimtabError
from trimtab.images.archives.opening import open_image
from trimtab.images.extracting import LeftOut, extract
from trimtab.images.merging import merged_view

CAPABILITY = b"\x01\0\0\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may own for others")


def capable(name: str, **facts: Any) -> Any:
    text = CAPABILITY.decode("utf-8", "surrogateescape")
    return entry(name, b"x", pax_headers={"SCHILY.xattr.security.capability": text}, **facts)


def extracted(
    tmp_path: Path, *layers: bytes, kept: list[str] | None = None
) -> tuple[Path, LeftOut]:
    image = open_image(oci_image(tmp_path / "image", *layers))
    out = tmp_path / "out"
    return out, extract(image, merged_view(image), out, kept)


def told(top: Path) -> dict[str, Any]:
    """All that is to be seen of a tree."""
    found = {}
    for path in [top, *top.rglob("*")]:
        status = path.lstat()
        facts = [status.st_mode, status.st_uid, status.st_gid, status.st_mtime_ns, status.st_rdev]
        facts.append(os.readlink(path) if path.is_symlink() else None)
        facts.append(path.read_bytes() if stat.S_ISREG(status.st_mode) else None)
        names = os.listxattr(path, follow_symlinks=False)
        facts.append({name: os.getxattr(path, name, follow_symlinks=False) for name in names})
        if stat.S_ISREG(status.st_mode):
            facts.append(sorted(str(other.relative_to(top)) for other in top.rglob("*")
                                if not other.is_symlink() and other.samefile(path)))  # fmt: skip
        found[path.relative_to(top).as_posix()] = facts
    return found


def test_as_gnu_tar_extracts(tmp_path: Path) -> None:
    me = {"uid": os.geteuid(), "gid": os.getegid()}
    theirs = {"uid": 12, "gid": 3456} if os.geteuid() == 0 else me
    data = layer(
        folder("./", mode=0o711, **me),
        folder("a", mode=0o555, mtime=5, **theirs),
        entry("a/set", b"s" * 70_000, mode=0o4755, mtime=1e9 + 0.25, **theirs),
        folder("a/b", mode=0o700, **me),
        entry("a/b/ü", b"", mode=0o400, **me),
        hard_link("a/b/twin", "a/set"),
        link("absolute", "/etc/passwd"),
        link("up", "../../.."),
        hard_link("up too", "up"),
        entry("pipe", kind=b"6", **me),
        entry("x" * 150, b"long", **theirs),
    )
    data = _links_of(data, me)
    out, left_out = extracted(tmp_path, data)
    (tmp_path / "theirs").mkdir()
    gnu_tar(
        "-C", tmp_path / "theirs", "-xp", "--same-owner", "--delay-directory-restore", data=data
    )
    ours, oracle = told(out), told(tmp_path / "theirs")
    assert ours == oracle
    assert left_out == LeftOut()
    assert ours["a/set"][0] & stat.S_ISUID and len(ours["a/set"][-1]) == 2


def _links_of(data: bytes, owner: dict[str, int]) -> bytes:
    """The same archive, its links owned by who extracts it."""
    entries = []
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for info in archive:
            if info.issym():
                info.uid, info.gid = owner["uid"], owner["gid"]
            file = archive.extractfile(info) if info.isreg() else None
            entries.append((info, file.read() if file else b""))
    return layer(*entries)


@NEEDS_ROOT
def test_what_root_may(tmp_path: Path) -> None:
    out, left_out = extracted(
        tmp_path, layer(capable("ping", uid=7), entry("null", kind=b"3", devmajor=1, devminor=3))
    )
    assert (out / "ping").stat().st_uid == 7
    if "/ping" not in left_out.xattrs:
        assert os.getxattr(out / "ping", "security.capability") == CAPABILITY
    if "/null" not in left_out.devices:
        assert (out / "null").stat().st_rdev == os.makedev(1, 3)


@pytest.fixture
def for_all() -> Iterator[Path]:
    """A folder that another user reaches, too."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        yield Path(folder)


def test_what_a_user_may(for_all: Path) -> None:
    """In a process without rights, as which root can run it too."""
    data = layer(
        entry("set", b"x", mode=0o6755, uid=12_345), capable("ping", uid=54_321, gid=54_321),
        entry("null", kind=b"3", devmajor=1, devminor=3, uid=54_321, gid=54_321),
        hard_link("zero", "null"), folder("d", mode=0o500, uid=54_321, gid=54_321),
        entry("d/in", b"y", uid=54_321, gid=54_321),
    )  # fmt: skip
    oci_image(for_all / "image", data)
    program = f"""
import os, sys
sys.path[:0] = {sys.path!r}
from pathlib import Path
from trimtab.images.archives.opening import open_image
from trimtab.images.extracting import extract
from trimtab.images.merging import merged_view
os.chdir({str(for_all)!r})
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(54_321); os.setuid(54_321)
image = open_image(Path("image"))
found = extract(image, merged_view(image), Path("out"))
print(found.owners, found.xattrs, found.devices, sep="\\n")
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE,
                          timeout=60)  # fmt: skip
    owners, xattrs, devices = done.stdout.decode().splitlines()
    assert "'/set'" in owners and xattrs == "['/ping']" and devices == "['/null', '/zero']"
    out = for_all / "out"
    assert stat.S_IMODE((out / "set").stat().st_mode) == 0o755  # nobody becomes its owner by it
    assert (out / "d/in").read_bytes() == b"y"
    assert stat.S_IMODE((out / "d").stat().st_mode) == 0o500
    assert not (out / "null").exists()


def test_a_part_has_the_folders_above(tmp_path: Path) -> None:
    data = layer(folder("a", mode=0o711), entry("a/one", b"1"), entry("a/two", b"2"),
                 hard_link("b", "a/one"), hard_link("c", "a/one"), folder("d"),
                 entry("d/e"))  # fmt: skip
    out, _ = extracted(tmp_path, data, kept=["/c", "/b", "/a/two", "/d"])
    assert sorted(path.relative_to(out).as_posix() for path in out.rglob("*")) == [
        "a", "a/two", "b", "c", "d"]  # fmt: skip
    assert (out / "b").samefile(out / "c") and (out / "b").read_bytes() == b"1"
    assert stat.S_IMODE((out / "a").stat().st_mode) == 0o711
    image = open_image(tmp_path / "image")
    for path in ("/absent", "a/one", "/a/one/", "/a/one/x"):
        with pytest.raises(TrimtabError, match="not in the image"):
            extract(image, merged_view(image), tmp_path / "other", [path])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["image", "out"]


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("ours")
    data = layer(
        link("out", str(outside)), folder("in"),
        link("file", str(outside / "file")), hard_link("twin", "file"),
    )  # fmt: skip
    upper = layer(entry("out/evil", b"1"), entry("file", b"theirs"), entry("twin/x", b"1"))
    out, _ = extracted(tmp_path, data, upper)
    assert (outside / "file").read_text() == "ours" and os.listdir(outside) == ["file"]
    assert (out / "out/evil").read_bytes() == b"1" and not (out / "out").is_symlink()
    assert (out / "file").read_bytes() == b"theirs"


def test_sparse_files_stay_sparse(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.write(b"a" * 4096)
        file.seek(1 << 28)
        file.write(b"b" * 5000)
        file.truncate(1 << 29)
    data = gnu_tar("-C", tmp_path, "--format=posix", "-S", "-c", "sparse")
    out, _ = extracted(tmp_path, data)
    status = (out / "sparse").stat()
    assert status.st_size == 1 << 29 and status.st_blocks * 512 < 1 << 20
    with (out / "sparse").open("rb") as file:
        assert file.read(4097) == b"a" * 4096 + b"\0"
        file.seek((1 << 28) - 1)
        assert file.read(5002) == b"\0" + b"b" * 5000 + b"\0"


def test_what_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").touch()
    with pytest.raises(TrimtabError, match="something of this name"):
        extracted(tmp_path, layer(entry("a")))
    assert os.listdir(tmp_path / "out") == ["mine"]


def test_local_files_take_the_place_of_contents(tmp_path: Path) -> None:
    data = layer(entry("lib", b"large" * 1000, mode=0o751), hard_link("twin", "lib"))
    image = open_image(oci_image(tmp_path / "image", data))
    view = merged_view(image)
    (tmp_path / "slim").write_bytes(b"slim")
    view.put_file("/lib", tmp_path / "slim")
    view.put_file("/new/folder/file", tmp_path / "slim", mode=0o640)
    extract(image, view, tmp_path / "out")
    assert (tmp_path / "out/twin").read_bytes() == b"slim"
    assert stat.S_IMODE((tmp_path / "out/lib").stat().st_mode) == 0o751
    assert stat.S_IMODE((tmp_path / "out/new/folder/file").stat().st_mode) == 0o640
    for path in ("/lib/x", "/new"):
        with pytest.raises(TrimtabError, match="in the image"):
            view.put_file(path, tmp_path / "slim")
    (tmp_path / "slim").write_bytes(b"another length")
    with pytest.raises(TrimtabError, match="was changed"):
        extract(image, view, tmp_path / "again")
    assert not (tmp_path / "again").exists()
