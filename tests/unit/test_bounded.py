"""A step of CI ends in its time, and says what hung."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BOUNDED = [sys.executable, str(Path("scripts/bounded.py").resolve())]


def test_the_exit_status_is_the_commands() -> None:
    for command, status in (("exit 0", 0), ("exit 3", 3), ("kill -9 $$", 137)):
        done = subprocess.run([*BOUNDED, "60", "sh", "-c", command], check=False)
        assert done.returncode == status


def test_what_hangs_is_named_and_ended_with_all_that_it_started(tmp_path: Path) -> None:
    # The child ignores SIGTERM, and holds the fifo open for as long as it lives.
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    hangs = f"trap '' TERM; exec 9> {fifo}; sleep 54321 & wait"
    done = subprocess.run([*BOUNDED, "1", "sh", "-c", hangs], capture_output=True, text=True)
    assert done.returncode == 124
    assert "not done after 1 s" in done.stdout and "sleep 54321" in done.stdout
    assert os.read(reader, 1) == b""  # no writer is left
    os.close(reader)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_step_ends_what_it_started(tmp_path: Path, number: int) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    command = [*BOUNDED, "60", "sh", "-c", f"echo begun > {fifo}; exec sleep 54321 9> {fifo}"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    with fifo.open() as reader:
        assert reader.readline() == "begun\n"
        process.send_signal(number)
        assert reader.read() == ""  # returns once no writer is left
    process.communicate()
    assert process.returncode not in (0, 124)
