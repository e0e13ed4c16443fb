"""A start is over with the output that was asked for, or is an error that says why not."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.processes.program import Driver, Program
from trimtab.processes.stat import children_of
from trimtab.profiling.cold_start.starting import OutputLine, first_output_s, to_first_output


@pytest.fixture
def others() -> set[int]:
    """Processes that other tests started here, as a browser or a pool, and still need."""
    return set(children_of(os.getpid()))


PATH = {"PATH": os.environ["PATH"]}


def shell(script: str, tmp_path: Path, timeout_s: float = 60.0) -> Program:
    return Program(("sh", "-c", script), tmp_path, PATH, timeout_s)


def test_the_first_line_ends_it(tmp_path: Path, others: set[int]) -> None:
    program = to_first_output(shell("echo; echo first; exec sleep 1000", tmp_path))
    assert 0 < first_output_s(program, tmp_path / "run") < 60
    assert (tmp_path / "run.stdout").read_text() == "\nfirst\n"
    assert set(children_of(os.getpid())) <= others


def test_a_pattern_is_waited_for(tmp_path: Path) -> None:
    script = "echo no; echo yes >&2; read line < pipe; echo yes; exec sleep 1000"
    os.mkfifo(tmp_path / "pipe")
    open_pipe = os.open(tmp_path / "pipe", os.O_RDWR)
    os.write(open_pipe, b"go\n")
    try:
        first_output_s(to_first_output(shell(script, tmp_path), "^y.s$"), tmp_path / "run")
    finally:
        os.close(open_pipe)
    assert (tmp_path / "run.stdout").read_text() == "no\nyes\n"


def test_lines_of_errors_come_with_their_times(tmp_path: Path) -> None:
    lines: list[OutputLine] = []
    script = "echo a >&2; printf 'b\\nc' >&2; echo done; exec sleep 1000"
    took_s = first_output_s(
        to_first_output(shell(script, tmp_path)), tmp_path / "run", lines.append
    )
    assert [line.text for line in lines] == ["a", "b"]
    assert 0 <= lines[0].time_s <= lines[1].time_s
    assert took_s > 0 and (tmp_path / "run.stderr").read_text() == "a\nb\nc"


@pytest.mark.parametrize(
    ("script", "pattern", "match"),
    [
        ("echo why >&2; exit 3", None, "(?s)ended with exit code 3 before any line.*why"),
        ("echo other", "^x", r"ended with exit code 0 before a line that matches '\^x'"),
        ("kill -9 $$", None, "was ended by signal 9"),
        ("exec sleep 1000", None, "still running after 0.2 s, and was killed"),
    ],
)
def test_no_first_output(
    script: str, pattern: str | None, match: str, tmp_path: Path, others: set[int]
) -> None:
    timeout_s = 0.2 if "sleep" in script else 60.0
    program = to_first_output(shell(script, tmp_path, timeout_s), pattern)
    with pytest.raises(UserError, match=match):
        first_output_s(program, tmp_path / "run")
    assert set(children_of(os.getpid())) <= others


def test_a_server_is_over_with_the_request(tmp_path: Path) -> None:
    driver = Driver((sys.executable, "-c", "print('answered')"), PATH, "ready", None)
    server = replace(shell("echo ready; exec sleep 1000", tmp_path), driver=driver)
    program = to_first_output(server)
    assert first_output_s(program, tmp_path / "run") > 0
    assert (tmp_path / "run.driver.stdout").read_text() == "answered\n"
    failing = replace(driver, command=(sys.executable, "-c", "exit(4)"))
    with pytest.raises(UserError, match="driven by a command that ended with exit code 4"):
        first_output_s(replace(program, driver=failing), tmp_path / "run")
    never = replace(program, driver=replace(driver, ready="never"), timeout_s=0.3)
    with pytest.raises(UserError, match="before a request was answered"):
        first_output_s(never, tmp_path / "run")
