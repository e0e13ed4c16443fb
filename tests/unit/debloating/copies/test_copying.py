"""A copy of an environment shares what nobody edits, and only that."""

import errno
import os
import py_compile
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.config.groups.debloat import Share
from trimtab.debloating.copies.copying import copy_tree
from trimtab.debloating.copies.layout import EnvironmentLayout, LayoutEntry
from trimtab.files import remove_tree
from trimtab.records.built_environment import LinkedFile

EDITED = {
    "script": b"#!/bin/sh\nexit 0\n",
    "module.py": b"import os\n",
    "paths.pth": b"/somewhere\n",
    "data.bin": bytes(range(256)) * 20,
    "linker_script.so": b"INPUT(-lfoo)\n",
    "cut_off.so": b"\x7fEL",
    "empty": b"",
    "text.pyc": b"no bytecode\n",
    "windows.txt": b"ab\r\n",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    (source / "folder").mkdir(parents=True)
    for name, content in EDITED.items():
        (source / name).write_bytes(content)
    (source / "mine.c").write_text("int f(void) { return 1; }\n")
    for words in (["gcc", "-shared", "-o", "mine.so", "mine.c"], ["gcc", "-c", "mine.c"],
                  ["ar", "cr", "libmine.a", "mine.o"]):  # fmt: skip
        subprocess.run(words, cwd=source, check=True)
    py_compile.compile(str(source / "module.py"), str(source / "module.pyc"), doraise=True)
    return source


def copied(source: Path, share: Share = Share.AUTO) -> Path:
    copy = source.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    copy_tree(EnvironmentLayout.of(source), copy, {"module.so"}, share)
    return copy


def test_what_is_edited_in_place_is_never_in_common(source: Path) -> None:
    copy = copied(source)
    for name, content in EDITED.items():
        with (copy / name).open("ab") as file:
            file.write(b"changed")
        assert (source / name).read_bytes() == content, name


def test_compiled_code_is_one_file(source: Path) -> None:
    copy = copied(source)
    one = {path.name for path in source.iterdir() if path.samefile(copy / path.name)}
    assert one == {"mine.so", "mine.o", "libmine.a", "module.pyc"}
    copy = copied(source, Share.COPY)
    assert not any(path.samefile(copy / path.name) for path in source.iterdir())


def test_what_is_one_with_the_original_is_told(source: Path) -> None:
    linked = copy_tree(
        EnvironmentLayout.of(source), source.parent / "copy", set(), Share.AUTO
    ).linked
    assert linked.keys() == {"mine.so", "mine.o", "libmine.a"}  # Python checks its bytecode
    status = (source / "mine.so").stat()
    assert linked["mine.so"] == LinkedFile(status.st_size, status.st_mtime_ns)


def test_links_into_the_source_lead_into_the_copy(source: Path) -> None:
    targets = {
        "absolute": source / "mine.so", "folder/absolute": source / "mine.so", "whole": source,
        "relative": Path("mine.so"), "dangling": Path("nowhere"), "outside": Path("/etc/passwd"),
        "beside": source.with_name("source-other"),
    }  # fmt: skip
    for name, target in targets.items():
        (source / name).symlink_to(target)
    copy = copied(source)
    texts = {name: os.readlink(copy / name) for name in targets}
    assert texts == {
        "absolute": "mine.so", "folder/absolute": "../mine.so", "whole": ".",
        "relative": "mine.so", "dangling": "nowhere", "outside": "/etc/passwd",
        "beside": str(source.with_name("source-other")),
    }  # fmt: skip


def test_sockets_and_pipes_are_left_behind(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They would block whoever opened them."""
    os.mkfifo(source / "pipe")
    monkeypatch.chdir(source)  # the path of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        copy = copied(source)
    assert not {"pipe", "socket"} & {path.name for path in copy.iterdir()}


def test_another_file_system_gets_copies(source: Path, other_file_system: Path) -> None:
    copy = other_file_system / "copy"
    shared = copy_tree(EnvironmentLayout.of(source), copy, set(), Share.AUTO)
    assert (shared.linked, shared.reflinked_bytes) == ({}, 0)
    for path in filter(Path.is_file, source.iterdir()):
        assert (copy / path.name).read_bytes() == path.read_bytes()
        assert (copy / path.name).stat().st_mtime_ns == path.stat().st_mtime_ns


def test_a_file_system_that_shares_no_blocks_is_asked_once(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[int]()

    def refused(descriptor: int, request: int, argument: int) -> int:
        asked.append(request)
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr("trimtab.debloating.copies.copying.fcntl.ioctl", refused)
    monkeypatch.setattr("trimtab.debloating.copies.copying._WORKERS", 1)
    copy = copied(source)
    assert len(asked) == 1
    assert {path.name for path in copy.iterdir()} == {path.name for path in source.iterdir()}


def test_as_many_links_as_the_file_system_takes(source: Path) -> None:
    """Of one file ext4 takes 65,000; others take more, and the test then says nothing."""
    many = source.parent / "many"
    many.mkdir()
    for number in range(65_000):
        try:
            os.link(source / "mine.so", many / str(number))
        except OSError:
            break
    copy = copied(source)
    assert (copy / "mine.so").read_bytes() == (source / "mine.so").read_bytes()


def test_only_what_is_as_it_was_is_taken_from_an_earlier_copy(source: Path) -> None:
    (source / "touched").write_bytes(b"one")
    (source / "dated").write_bytes(b"one")
    os.utime(source / "dated", (1, 1))
    earlier = copied(source)
    (earlier / "script").write_bytes(b"#!/bin/sh\nexit 1\n")  # as long
    (earlier / "data.bin").unlink()
    (earlier / "data.bin").symlink_to(source / "data.bin")
    (earlier / "empty").unlink()
    (source / "touched").write_bytes(b"two")
    (source / "dated").write_bytes(b"two")
    os.utime(source / "dated", (1, 1))  # as of every file of some installers
    copy = source.parent / "again"
    copy_tree(EnvironmentLayout.of(source), copy, set(), Share.AUTO, earlier)
    for path in filter(Path.is_file, source.iterdir()):
        assert (copy / path.name).read_bytes() == path.read_bytes(), path
        assert not (copy / path.name).is_symlink()
    assert (copy / "module.py").samefile(earlier / "module.py")
    assert not (copy / "module.py").samefile(source / "module.py")


def test_folders_that_nobody_may_write_to(source: Path) -> None:
    """As conda's and Nix's packages have them; the copy can be removed again."""
    (source / "folder/inner").mkdir()
    (source / "folder/inner/file").touch()
    (source / "folder").chmod(0o555)
    copy = copied(source)
    assert (copy / "folder/inner/file").exists()
    assert (copy / "folder").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", ["module.py", "mine.so", "folder"])
def test_what_cannot_be_read_is_named(source: Path, name: str) -> None:
    """Nothing is left out silently."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o777)
    shutil.move(source, place / "source")
    (place / "source" / name).chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        with pytest.raises(PermissionError) as error:
            copy_tree(EnvironmentLayout.of(place / "source"), place / "copy", set(), Share.AUTO)
    finally:
        os.seteuid(user)
        (place / "source" / name).chmod(0o700)
        shutil.rmtree(place)
    assert error.value.filename == str(place / "source" / name)


class Restless(EnvironmentLayout):
    """An environment that is in use: what is told of is gone before it is copied."""

    def entries(self) -> Iterator[LayoutEntry]:
        for entry in super().entries():
            if entry.name in ("module.pyc.123", "one.pyc"):
                Path(entry.path).unlink()
            yield entry


def test_bytecode_that_others_remove_meanwhile_is_left_out(source: Path, tmp_path: Path) -> None:
    (source / "module.pyc.123").touch()
    (source / "one.pyc").write_text("x")
    (source / "two").hardlink_to(source / "one.pyc")
    layout = Restless.of(source)
    copy_tree(layout, tmp_path / "copy", set(), Share.AUTO)
    made = {path.name for path in (tmp_path / "copy").iterdir()}
    assert {path.name for path in source.iterdir()} == made
    assert (tmp_path / "copy/two").read_text() == "x" and not (tmp_path / "copy/one.pyc").exists()


@pytest.mark.parametrize("gone", ["copy", "source/folder", "source/module.py"])
def test_anything_else_that_others_remove_is_an_error(
    source: Path, tmp_path: Path, gone: str
) -> None:
    class Removing(EnvironmentLayout):
        def entries(self) -> Iterator[LayoutEntry]:
            yield from super().entries()
            remove_tree(tmp_path / gone)

    with pytest.raises(FileNotFoundError):
        copy_tree(Removing.of(source), tmp_path / "copy", set(), Share.AUTO)
