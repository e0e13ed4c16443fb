"""What two runs of a program as it is tell: its end, and what of its output can be compared."""

import re
import sys
from pathlib import Path

import pytest

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.config.groups.workload import Workload
from trimtab.errors import UserError
from trimtab.profiling.original import as_it_runs
from trimtab.profiling.profile import trace_workload

TWICE = "import os; again = os.path.exists('ran'); open('ran', 'w').close()\n"


def workload(folder: Path, code: str, **changes: object) -> Workload:
    given = {
        "name": "mine",
        "command": ["python", "-c", code],
        "python": sys.executable,
        "workdir": str(folder),
        **changes,
    }
    return Workload(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "end", "words"),
    [
        ("import sys; sys.exit('it went wrong')", "1", "exit code 1, .*: it went wrong;"),
        ("raise SystemExit(3)", "3", "exit code 3, expected exit code 0"),
        ("import os; os.kill(os.getpid(), 15)", "SIGTERM", r"by signal 15 \(SIGTERM\), expected"),
        ("import os; os.kill(os.getpid(), 40)", "SIGRTMIN+6", r"by signal 40 \(SIGRTMIN\+6\)"),
    ],
)
def test_another_end_than_0_has_to_be_asked_for(
    tmp_path: Path, code: str, end: str, words: str
) -> None:
    mine = workload(tmp_path, code)
    typed = rf"{words}.*`--ends-with {re.escape(end)}` if that is right; see .*original-0.stderr"
    with pytest.raises(UserError, match=typed):
        as_it_runs(mine, tmp_path / "runs", choose=True)
    mine.ends_with = end
    known = as_it_runs(mine, tmp_path / "runs", choose=True)
    assert known.workload.ends_with == end and known.remarks == []
    assert known.workload.output == Output() and known.trace(1).complete


def test_another_end_the_second_time_is_refused(tmp_path: Path) -> None:
    mine = workload(tmp_path, TWICE + "raise SystemExit(4 if again else 3)", ends_with="3")
    with pytest.raises(UserError, match=r"exit code 4, expected exit code 3.* not traced ended"):
        as_it_runs(mine, tmp_path / "original", choose=True)


def test_a_program_that_cannot_be_followed_is_told_why(tmp_path: Path) -> None:
    """It has a process that it traces itself, and ends in another way where it must not."""
    code = "import ctypes\nraise SystemExit(ctypes.CDLL(None).ptrace(0, 0, 0, 0) != 0)"
    with pytest.raises(UserError, match=r"exit code 1(.|\n)*cannot be followed: .*called ptrace"):
        as_it_runs(workload(tmp_path, code), tmp_path / "runs", choose=False)
    with pytest.raises(UserError, match=r"cannot be followed: .*called ptrace"):
        trace_workload(workload(tmp_path, code), tmp_path / "again", 1)


def test_a_daemon_ends_with_the_run_and_what_it_used_counts(tmp_path: Path) -> None:
    """With its functions traced, and with its files followed; neither waits for it."""
    (tmp_path / "data").touch()
    code = (
        "import os, signal\nr, w = os.pipe()\nif not os.fork():\n    os.setsid()\n"
        "    if os.fork(): os._exit(0)\n    import decimal; open('data'); os.write(w, b'.')\n"
        "    while True: signal.pause()\nos.read(r, 1)"
    )
    known = as_it_runs(workload(tmp_path, code), tmp_path / "runs", choose=False)
    usage = known.trace(1)
    assert known.plain.left_behind == 1 and usage.complete, usage.incomplete_because
    assert any(Path(library.path).name.startswith("_decimal") for library in usage.libraries)
    assert [file.uses for file in usage.files if file.path == str(tmp_path / "data")] == [["read"]]
    assert not any("killed before" in note for note in usage.notes)  # it was ended by us


def test_a_traced_run_has_to_end_so_too(tmp_path: Path) -> None:
    mine = workload(tmp_path, "import os; raise SystemExit('LD_AUDIT' in os.environ)")
    known = as_it_runs(mine, tmp_path / "runs", choose=True)
    with pytest.raises(UserError, match=r"exit code 1, expected exit code 0.* not traced ended"):
        known.trace(1)


def test_what_differs_by_itself(tmp_path: Path) -> None:
    mine = workload(tmp_path, TWICE + "print('result 7'); print('took', 5 + again, 's')")
    known = as_it_runs(mine, tmp_path / "runs", choose=True)
    assert known.workload.output.compare == OutputComparison.LINES
    assert known.remarks == [
        "standard output differs from run to run, or says how long something took, in 1 of 2"
        r" lines: compared without those that match `^\s*took\s+\d+\s+s\s*$` (lines)"
    ]
    assert known.trace(1).complete
    (tmp_path / "ran").unlink()
    with pytest.raises(UserError, match=r"line 2 .* output\.compare: lines"):
        as_it_runs(mine, tmp_path / "original", choose=False)


AWAY = "os.rename('runs', 'old')"


@pytest.mark.parametrize(
    "what", ["shutil.rmtree('runs')", AWAY, f"{AWAY}; os.symlink('elsewhere', 'runs')"]
)
def test_a_program_that_takes_the_results_away(tmp_path: Path, what: str) -> None:
    """What is elsewhere is not written to in their place, nor removed."""
    (tmp_path / "elsewhere/caches").mkdir(parents=True)
    code = f"import os, shutil; {what}"
    with pytest.raises(UserError, match="/runs: removed, or another folder in its place"):
        as_it_runs(workload(tmp_path, code), tmp_path / "runs", choose=True)
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["caches"]
