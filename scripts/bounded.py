"""Run a command for so many seconds at most: bounded.py SECONDS COMMAND...

When the time is over, the tree of all processes is printed before the command and all that it
started are ended, so that what hangs in CI names itself. The exit status is the command's, or 124.
"""

import os
import signal
import subprocess
import sys
from types import FrameType

_SECONDS_TO_END = 10
_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)


def _end_group(group: int, process: "subprocess.Popen[bytes]") -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(group, number)
            process.wait(_SECONDS_TO_END)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _interrupt(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def main() -> int:
    """Run the command of the command line and return its exit status, or 124 after its time."""
    limit_s, command = float(sys.argv[1]), sys.argv[2:]
    # A signal while the command starts waits until it can be ended.
    early: list[int] = []
    for number in _INTERRUPTS:
        signal.signal(number, lambda number, _: early.append(number))
    # A session of its own, so that one signal reaches all that it started.
    process = subprocess.Popen(command, start_new_session=True)
    try:
        for number in _INTERRUPTS:
            signal.signal(number, _interrupt)
        if early:
            _interrupt(early[0], None)
        status = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        print(f"== {' '.join(command)}: not done after {limit_s:g} s; processes:", flush=True)
        subprocess.run(["ps", "-ef", "--forest"], check=False)
        status = 124
    finally:
        if process.returncode is None:
            _end_group(process.pid, process)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
