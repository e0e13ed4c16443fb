"""Where the links of an environment lead in its copy, and that nothing is written through them."""

import os
import socket
from collections.abc import Callable
from pathlib import Path, PurePath

import pytest

from trimtab.config.groups.debloat import Share
from trimtab.debloating.copies.copying import copy_tree
from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.copies.layout import EnvironmentLayout
from trimtab.errors import UserError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An environment below a folder that has a second name, and a folder beside it."""
    root = tmp_path / "real/envs/env"
    (root / "lib/inner").mkdir(parents=True)
    (root / "lib/file").write_text("inside")
    (tmp_path / "real/outside").mkdir()
    (tmp_path / "real/outside/file").write_text("outside")
    (tmp_path / "other").symlink_to("real")
    return root


def copied(root: Path, *own: str) -> Path:
    copy = root.parents[2] / "elsewhere/deep/er/copy"
    copy.parent.mkdir(parents=True)
    copy_tree(EnvironmentLayout.of(root, own), copy, set(), Share.COPY)
    return copy


@pytest.mark.parametrize(
    ("text", "leads_to"),
    [
        ("../../../outside/file", "{tmp}/real/outside/file"),  # out, relative
        ("../../../outside/../outside/file", "{tmp}/real/outside/file"),
        ("../../../../other/outside/file", "{tmp}/real/outside/file"),
        ("{tmp}/real/outside/file", "{tmp}/real/outside/file"),
        ("../lib/file", "{copy}/lib/file"),
        ("inner/../file", "{copy}/lib/file"),
        ("../../env/lib/file", "{copy}/lib/file"),  # out and in again
        ("../../../../other/envs/env/lib/file", "{copy}/lib/file"),
        ("{tmp}/real/envs/env/lib/file", "{copy}/lib/file"),
        ("{tmp}/other/envs/env/lib/file", "{copy}/lib/file"),
        ("{tmp}/real/envs/../envs/env/lib//file", "{copy}/lib/file"),
        ("{tmp}/real/outside/../envs/env/lib/file", "{copy}/lib/file"),
        ("{tmp}/other/envs/env/", "{copy}"),
        ("{tmp}/real/envs/env/lib/inner/", "{copy}/lib/inner"),
        ("../..", "{tmp}/real/envs"),
        ("..", "{copy}"),
        (".", "{copy}/lib"),
        ("../lib64/file", "{copy}/lib/file"),  # through another link
        ("../out/file", "{tmp}/real/outside/file"),
        ("../../../outside/nothing", None),  # what dangles still does
        ("nothing", None),
        ("{tmp}/real/envs/env/nothing", None),
        ("itself", None),
    ],
)
@pytest.mark.parametrize("by", ["real", "other"])
def test_a_link_leads_to_where_it_led(
    root: Path, tmp_path: Path, text: str, leads_to: str | None, by: str
) -> None:
    (root / "lib64").symlink_to("lib")
    (root / "out").symlink_to("../../outside")
    (root / "lib/itself").symlink_to(text.format(tmp=tmp_path))
    copy = copied(tmp_path / by / "envs/env")
    link = copy / "lib/itself"
    assert link.is_symlink()
    if leads_to is None:
        assert not link.exists() and not (root / "lib/itself").exists()
    else:
        assert os.path.realpath(link) == leads_to.format(tmp=tmp_path, copy=copy)
        assert link.exists()


def test_a_folder_that_is_written_to_is_copied_where_it_is_a_link(
    root: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "real/outside"
    (outside / "deep").mkdir()
    for name, text in {"up": "../file", "out": "../../envs", "self": "file"}.items():
        (outside / "deep" / name).symlink_to(text)
    (root / "bin").symlink_to("../../outside")
    (root / "again").symlink_to(outside)  # the same, by another link
    (root / "data").symlink_to(outside / "deep")  # and into it
    copy = copied(root, "bin")
    assert not (copy / "bin").is_symlink()
    assert (copy / "bin/file").read_text() == "outside"
    assert not (copy / "bin/file").samefile(outside / "file")
    assert os.path.realpath(copy / "bin/deep/up") == str(copy / "bin/file")
    assert os.path.realpath(copy / "bin/deep/out") == str(tmp_path / "real/envs")
    assert os.path.realpath(copy / "again") == str(copy / "bin")
    assert os.path.realpath(copy / "data") == str(copy / "bin/deep")


@pytest.mark.parametrize("place", ["/", "/usr", "/usr/bin", "{root}/.."])
def test_a_folder_that_no_copy_can_hold(root: Path, place: str) -> None:
    (root / "bin").symlink_to(place.format(root=root))
    with pytest.raises(UserError, match=rf"{root}/bin: is a link to .*put a folder of its own"):
        EnvironmentLayout.of(root, ["bin"])


def test_a_name_leads_nowhere_else(root: Path, tmp_path: Path) -> None:
    """Also by a link that was put there after it was looked at."""
    victim = tmp_path / "real/outside"
    with DirectoryHandle.make(tmp_path / "new") as top:
        with top.folder("a/b", make=True) as inner:
            (tmp_path / "new/a").rename(tmp_path / "new/moved")
            (tmp_path / "new/a").symlink_to(victim)
            inner.write("file", b"held")
            (tmp_path / "new/moved/b/link").symlink_to(victim / "file")
            inner.write("link", b"in its place")
            with pytest.raises(OSError, match="link2"), inner.new_file("link2"):
                pass  # made, and made again:
                with inner.new_file("link2"):
                    pass
        assert (tmp_path / "new/moved/b/file").read_bytes() == b"held"
        attempts: list[Callable[[], object]] = [
            lambda: top.folder("a"),
            lambda: top.folder("a", make=True),
            lambda: top.folder("a/b", make=True),
            lambda: top.read("a"),
            lambda: top.new_file("a").__enter__(),
            lambda: top.symlink("x", "a"),
            lambda: top.link(tmp_path / "real/outside/file", "a"),
        ]
        for attempt in attempts:
            with pytest.raises(OSError, match=r"new/a\b"):
                attempt()
        for name in ("..", "../x", "x/../..", "/etc", "."):
            with pytest.raises(ValueError, match="is no name"):
                top.write(name, b"")
        with pytest.raises(ValueError, match="is no name"):
            top.folder("../outside")
        top.remove("a")
    assert [path.name for path in victim.iterdir()] == ["file"]
    assert (victim / "file").read_text() == "outside"


def test_files_that_are_one_are_one_in_the_copy(root: Path) -> None:
    (root / "lib/twin").hardlink_to(root / "lib/file")
    (root / "lib/inner/twin").hardlink_to(root / "lib/file")
    copy = copied(root)
    assert (copy / "lib/twin").samefile(copy / "lib/file")
    assert (copy / "lib/inner/twin").samefile(copy / "lib/file")
    assert not (copy / "lib/file").samefile(root / "lib/file")


def test_nothing_runs_as_its_owner_in_the_copy(root: Path) -> None:
    """Who copies is another one, root perhaps."""
    for name, mode in {"user": 0o4755, "group": 0o2755, "sticky": 0o1644, "none": 0o640}.items():
        (root / name).write_text("#!/bin/sh\n")
        (root / name).chmod(mode)
    (root / "lib").chmod(0o2755)
    copy = copied(root)
    modes = {path.name: path.stat().st_mode & 0o7777 for path in copy.iterdir()}
    assert modes == {"user": 0o755, "group": 0o755, "sticky": 0o1644, "none": 0o640, "lib": 0o2755}


def test_attributes_and_lists_of_who_may_what(root: Path) -> None:
    file = root / "lib/file"
    try:
        os.setxattr(file, "user.note", b"kept")
    except OSError:
        pytest.skip("this file system has no attributes")
    # POSIX ACL of Linux, version 2: owner rw, user 1234 r, group r, mask r, others none.
    entries = [(1, 6, 2**32 - 1), (2, 4, 1234), (4, 4, 2**32 - 1), (16, 4, 2**32 - 1),
               (32, 0, 2**32 - 1)]  # fmt: skip
    acl = (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little") + may.to_bytes(2, "little") + who.to_bytes(4, "little")
        for tag, may, who in entries
    )
    os.setxattr(file, "system.posix_acl_access", acl)
    copy = copied(root) / "lib/file"
    assert os.getxattr(copy, "user.note") == b"kept"
    assert os.getxattr(copy, "system.posix_acl_access") == acl


def test_pipes_sockets_and_devices_stay_behind(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # the path of a socket is short
    if os.geteuid() == 0:
        os.mknod("device", 0o600 | 0o020000, os.makedev(1, 5))  # /dev/zero
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        copy = copied(root)
    assert sorted(path.name for path in copy.iterdir()) == ["lib"]


def test_a_path_in_the_environment_by_any_name(root: Path, tmp_path: Path) -> None:
    (root / "lib/packages").symlink_to(tmp_path / "real/outside")
    layout = EnvironmentLayout.of(tmp_path / "other/envs/env", ["lib/pack*"])
    assert layout.name_of(root / "lib/file") == PurePath("lib/file")
    assert layout.name_of(tmp_path / "real/outside/file") == PurePath("lib/packages/file")
    assert layout.name_of(tmp_path / "real/envs/env2") is None
