"""A change of what a start read is named, and nothing else is."""

import os
from pathlib import Path

import pytest

from trimtab.debloating.snapshots.changes import changes
from trimtab.debloating.snapshots.guards import digest_of_names


@pytest.fixture
def read(tmp_path: Path) -> Path:
    """A folder with what a start read, with blanks in its path."""
    read = tmp_path / "what was read"
    for name in ("modules", "all", "folder", "there"):
        (read / name).mkdir(parents=True)
    (read / "modules/one.py").touch()
    (read / "file").write_text("text")
    return read


@pytest.fixture
def environment(read: Path, tmp_path: Path) -> Path:
    """An environment with two snapshots: one with a guard of each kind, one that never changes."""
    file = read / "file"
    seconds, nanoseconds = divmod(file.stat().st_mtime_ns, 10**9)
    modules = digest_of_names(str(read / "modules"), is_whole=False)
    lines = [
        "=first-1", "wprogram.py", "eHOME=/", f"l{read}/missing", f"k{read}/folder",
        f"v{read}/there", f"g{modules} {read}/modules",
        f"G{digest_of_names(str(read / 'all'), is_whole=True)} {read}/all",
        f"f4 {seconds} {nanoseconds} {file}", ".", "=second-1", ".",
    ]  # fmt: skip
    folder = tmp_path / "env/trimtab/snapshots"
    folder.mkdir(parents=True)
    (folder / "guards").write_text("".join(f"{line}\0" for line in lines))
    return tmp_path / "env"


def test_nothing_changed(environment: Path, read: Path) -> None:
    (read / "modules/notes.txt").touch()  # no module
    assert changes(environment) == []
    assert changes(read) == []  # no environment with snapshots


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo more >> file", "file was changed"),
        ("touch -d @1 file", "file was changed"),
        ("rm file", "file was changed"),
        ("ln -s nowhere missing", "missing was added"),
        ("rmdir folder", "folder is no folder any more"),
        ("rmdir there", "there was removed"),
        ("touch modules/two.py", "a module was added to or removed from {read}/modules"),
        ("rm -r modules", "a module was added to or removed from {read}/modules"),
        ("touch all/notes.txt", "files were added to or removed from {read}/all"),
    ],
)
def test_a_change_is_named(environment: Path, read: Path, command: str, said: str) -> None:
    assert os.system(f"cd '{read}' && {command}") == 0
    [change] = changes(environment)
    assert change.startswith((said.format(read=read), f"{read}/{said}"))


def test_a_damaged_file_is_told(environment: Path) -> None:
    (environment / "trimtab/snapshots/guards").write_bytes(b"=first-1\0f1 2\0.\0")
    assert changes(environment) == ["it is damaged"]


def test_what_came_back_is_told_once_of_all_snapshots(tmp_path: Path) -> None:
    state = tmp_path / "trimtab/files.state"
    (tmp_path / "trimtab/snapshots").mkdir(parents=True)
    state.write_bytes(b"..")
    seconds, nanoseconds = divmod(state.stat().st_mtime_ns, 10**9)
    guard = f"f2 {seconds} {nanoseconds} {state}"
    lines = ["=first-1", guard, ".", "=second-1", guard, "."]
    (tmp_path / "trimtab/snapshots/guards").write_text("".join(f"{line}\0" for line in lines))
    assert changes(tmp_path) == []
    state.write_bytes(b".x.")
    assert changes(tmp_path) == ["something removed came back"]
