"""Which files of an environment no run read: each once, by the names that a usage has of them."""

import os
from pathlib import Path

import pytest

from trimtab.debloating.copies.layout import EnvironmentLayout
from trimtab.debloating.files.unread import other_files
from trimtab.records.usage import Usage, UsedFile


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An environment of files of one block each: modules, data with two names, a library."""
    for name in ("a.py", "b.py", "table.csv", "libx.so"):
        (tmp_path / "lib").mkdir(exist_ok=True)
        (tmp_path / "lib" / name).write_text(name)
    os.link(tmp_path / "lib/table.csv", tmp_path / "again.csv")
    (tmp_path / "link.csv").symlink_to("again.csv")
    return tmp_path


def usage(*files: UsedFile, complete: bool = True) -> Usage:
    return Usage(workload="w", command=["w"], complete=True, files=files, files_complete=complete)


def test_a_file_counts_once_and_is_read_by_any_of_its_names(root: Path) -> None:
    read = [
        UsedFile(str(root / "link.csv"), str(root / "again.csv"), ["read"]),
        UsedFile(str(root / "lib/a.py"), str(root / "lib/a.py"), ["stat", "read"]),
        UsedFile(str(root / "lib/b.py"), str(root / "lib/b.py"), ["stat"]),
    ]
    found = other_files(
        EnvironmentLayout.of(root), [usage(*read)], {"lib/libx.so"}, lambda name: False
    )
    block = (root / "lib/a.py").stat().st_blocks * 512
    modules, data = found["Python modules"], found["other"]
    assert (modules.files, modules.unread_files) == (2, 1)
    assert (modules.disk_bytes, modules.unread_disk_bytes) == (2 * block, block)
    assert (data.files, data.unread_files, data.disk_bytes) == (1, 0, block)
    assert found.keys() == {"Python modules", "other"}


def test_what_goes_is_not_kept(root: Path) -> None:
    found = other_files(EnvironmentLayout.of(root), [usage()], {"lib/libx.so"}, "lib/b.py".__eq__)
    modules = found["Python modules"]
    assert modules.unread_disk_bytes == modules.disk_bytes == 2 * modules.kept_disk_bytes
    assert modules.unread_kept_disk_bytes == modules.kept_disk_bytes


def test_of_a_whole_root_names_are_those_of_the_programs_inside(root: Path) -> None:
    read = usage(UsedFile("/lib/a.py", "/lib/a.py", ["read"]))
    found = other_files(EnvironmentLayout.of_root(root), [read], set(), lambda name: False)
    assert found["Python modules"].unread_files == 1


def test_nothing_is_said_where_it_is_not_known_what_was_read(root: Path) -> None:
    assert other_files(EnvironmentLayout.of(root), [usage(complete=False)], set(), bool) == {}
