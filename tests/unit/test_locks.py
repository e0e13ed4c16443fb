"""One writer at a time in a folder, whose lock ends with it."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from trimtab import locks
from trimtab.errors import UserError
from trimtab.files import new_folder_beside
from trimtab.locks import LOCK, folder_lock

HOLDER = """
import os, signal, sys
from pathlib import Path
from trimtab.files import new_folder_beside
from trimtab.locks import folder_lock
with folder_lock(Path(sys.argv[1])):
    new_folder_beside(Path(sys.argv[1], "env")).joinpath("half").touch()
    print(flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_PATIENCE_S", 0.0)


def test_the_second_hears_of_the_first_whose_end_by_sigkill_frees_it(
    tmp_path: Path, impatient: None
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        before = sorted(tmp_path.iterdir())
        with pytest.raises(UserError) as refused, folder_lock(tmp_path):
            pass
        assert f"process {holder.pid}, since 2" in str(refused.value)
        assert f"`kill {holder.pid}`" in str(refused.value) and "\n" not in str(refused.value)
        assert refused.value.exit_code == 2
        assert sorted(tmp_path.iterdir()) == before and len(before) == 2
        holder.send_signal(signal.SIGKILL)
    with folder_lock(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [LOCK]  # what was half done is gone
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("process 7 on elsewhere since 2026-11-22 10:00:00 UTC\n", "`kill 7` there"),
        ("\x1b[31mprocess 7\n", "a process that has not said yet which"),
        ("", "a process that has not said yet which"),
    ],
)
def test_who_holds_it(tmp_path: Path, impatient: None, text: str, told: str) -> None:
    path = tmp_path / LOCK
    path.write_text(text)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UserError, match=told) as refused, folder_lock(tmp_path):
            pass
    assert "\x1b" not in str(refused.value)
    with folder_lock(tmp_path):  # a file that is left behind locks nothing
        assert path.read_text().startswith(f"process {os.getpid()} on ")


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("outside")])
def test_what_is_no_lock_is_named(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / LOCK)
    named = pytest.raises(UserError, match=rf"{LOCK}: not a file of trimtab's")
    with named, folder_lock(tmp_path):
        pass
    assert not (tmp_path / "outside").exists()


def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError(locks.errno.ENOLCK, "")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(UserError, match="without locks"), folder_lock(tmp_path):
        pass


def test_no_two_at_once_though_the_file_goes_and_comes(tmp_path: Path) -> None:
    number = tmp_path / "number"
    number.write_text("0")

    def count(_: int) -> None:
        with folder_lock(tmp_path):
            known = int(number.read_text())
            os.sched_yield()
            number.write_text(str(known + 1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(40)))
    assert number.read_text() == "40"


def test_a_folder_in_which_nothing_was_written_goes_again(tmp_path: Path) -> None:
    with pytest.raises(UserError), folder_lock(tmp_path / "new"):
        raise UserError("")
    with folder_lock(tmp_path / "other"):
        (tmp_path / "other/file").touch()
    assert [path.name for path in tmp_path.rglob("*")] == ["other", "file"]


def test_folders_that_are_not_whole_have_names_of_their_own(tmp_path: Path) -> None:
    one, other = (new_folder_beside(tmp_path / "env") for _ in range(2))
    assert one != other and one.parent == tmp_path
