"""What is told of programs that run for long and may be servers."""

import sys
from pathlib import Path

import pytest

from trimtab.processes.program import Driver, Program
from trimtab.profiling import long_running
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.run import measure_run
from trimtab.progress import telling

# It ends once it is told of, by the file that `told` makes; never later than its timeout.
LISTENS = """
import os, socket, sys, time
with socket.socket() as server:
    server.bind(("127.0.0.1", 0)); server.listen()
    open("port", "w").write(str(server.getsockname()[1]))
    while not os.path.exists("told"): time.sleep(0.01)
"""
QUIET = "import time; time.sleep(0.5)"


def told(folder: Path, code: str, driver: Driver | None = None) -> list[str]:
    words: list[str] = []

    def listen(said: str) -> None:
        words.append(said)
        (folder / "told").touch()

    program = Program((sys.executable, "-c", code), folder, {}, 20.0, driver=driver)
    with telling(listen):
        measure_run(
            program, condition="original", repeat=0, hardware=NO_POWER_MODEL, log_dir=folder
        )
    return words


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_running, "AFTER_S", 0.01)


def test_a_program_that_listens_and_does_not_end_is_told_how_a_server_is_given(
    tmp_path: Path,
) -> None:
    [words] = told(tmp_path, LISTENS)
    port = (tmp_path / "port").read_text()
    for part in (f"listens on port {port}", "`--drive COMMAND`", f"`--address localhost:{port}`"):
        assert part in words


def test_a_server_that_is_not_ready_is_told_what_it_waits_for(tmp_path: Path) -> None:
    [words] = told(tmp_path, LISTENS, Driver(("true",), {}, "never said", None))
    assert "is not ready after" in words and "no line matched 'never said'" in words
    assert "`--ready PATTERN`" in words


def test_the_last_line_of_a_server_that_is_not_ready_is_told(tmp_path: Path) -> None:
    """It says what `--ready` could have been."""
    out, errors, words = tmp_path / "out", tmp_path / "errors", list[str]()
    out.touch()
    errors.write_text("starting\nListening at last\n\n")
    run = long_running.LongRun(["server"], is_driven=True, logs=(out, errors))
    with telling(words.append):
        for elapsed_s in (0.0, 21.0, 50.0):
            run.look(elapsed_s, [], "no line matched 'never said'")
    [said] = words
    assert "not ready after 21 s: no line matched 'never said'" in said
    assert "its last line is 'Listening at last'" in said


def test_a_program_that_takes_long_is_told_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, QUIET) == []
