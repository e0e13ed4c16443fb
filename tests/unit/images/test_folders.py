"""A root file system in a folder is the image that GNU tar's archive of it is."""

import os
import socket
from pathlib import Path

import pytest
from handmade import gnu_tar, oci_image
from view_facts import facts

from trimtab.errors import UserError
from trimtab.images.archives.opening import open_image
from trimtab.images.folders import image_of_folder, is_root_folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    top = tmp_path / "root"
    (top / "etc/deep").mkdir(parents=True)
    (top / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    (top / "etc/passwd").chmod(0o4750)
    os.link(top / "etc/passwd", top / "etc/deep/again")
    (top / "etc/link").symlink_to("/nowhere/../else")
    os.link(top / "etc/link", top / "etc/linked", follow_symlinks=False)
    os.mkfifo(top / "pipe")
    (top / os.fsdecode(b"no utf-8 \xff")).write_bytes(b"x" * 3_000_000)
    (top / "empty").touch()
    os.truncate(top / "empty", 0)
    with (top / "holes").open("wb") as file:
        file.truncate(1 << 20)
    os.utime(top / "empty", ns=(1, 1_600_000_000_123_456_789))
    os.utime(top / "etc", ns=(1, 1_500_000_000_000_000_001))
    top.chmod(0o711)
    return top


def test_all_that_is_in_it(root: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(root / "etc/deep", 12, 34)
        os.mknod(root / "null", 0o20666, os.makedev(1, 3))
    words = ("--create", "--format=pax", "--xattrs", "--numeric-owner", "--directory", root, ".")
    expected = open_image(oci_image(tmp_path / "root.tar", gnu_tar(*words)))
    with socket.socket(socket.AF_UNIX) as one:
        here = os.open(root, os.O_RDONLY)
        os.utime(root, ns=(1, os.stat(root).st_mtime_ns))  # noqa: PTH116
        before = root.stat().st_mtime_ns
        one.bind(f"/proc/self/fd/{here}/socket")
        os.close(here)
        os.utime(root, ns=(1, before))
    with image_of_folder(root) as image:
        assert facts(image) == facts(expected)
        assert image.path == root
        layer = image.layers[0].region.path
        assert layer.exists()
    assert not layer.exists()


def test_which_folders_are_roots(root: Path, tmp_path: Path) -> None:
    assert is_root_folder(root)
    assert not is_root_folder(root / "etc/passwd") and not is_root_folder(root / "missing")
    assert not is_root_folder(oci_image(tmp_path / "layout", gnu_tar("--create", "-C", root, ".")))


def test_the_copy_is_not_made_in_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(root / "etc"))
    with pytest.raises(UserError, match="holds TMPDIR"), image_of_folder(root):
        pass
    assert sorted(path.name for path in (root / "etc").iterdir()) == [
        "deep", "link", "linked", "passwd",
    ]  # fmt: skip
