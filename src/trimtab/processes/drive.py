"""Drive a server: wait until it is ready, run its driver, stop it."""

import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from trimtab.errors import UserError
from trimtab.processes.program import Driver, Program, ended
from trimtab.processes.stat import children_of, family_of
from trimtab.untrusted import UntrustedFileError, new_file, open_untrusted

_POLL_S = 0.01
_CONNECT_S = 1.0
_STOP_PATIENCE_S = 30.0
_DRIVER_PATIENCE_S = 5.0
_LARGEST_LOG_BYTES = 1 << 62
_LONGEST_LINE_BYTES, _MOST_AT_A_TIME_BYTES = 1 << 20, 1 << 26


class Driving(threading.Thread):
    """Drives the newly started server `pid` to its end.

    `logs` are the server's output files; the driver's output goes to `stem`.driver.stdout and
    .driver.stderr. `has_ended` says whether the server has ended. `waits_for` says why it is not
    ready, None once it is. After the thread, `problem` says what failed, or is None. `driven_at` is
    the driver's end by time.monotonic, or None if it was not started. `stopped` are the numbers of
    the server's processes at its stop signal.
    """

    def __init__(
        self,
        program: Program,
        driver: Driver,
        pid: int,
        logs: Sequence[Path],
        stem: Path,
        has_ended: Callable[[], bool],
    ) -> None:
        super().__init__(daemon=True)
        self.problem: str | None = None
        self.waits_for: str | None = None
        self.driven_at: float | None = None
        self.stopped: set[int] = set()
        self._program, self._driver, self._pid = program, driver, pid
        self._logs, self._stem, self._has_ended = logs, stem, has_ended
        self._given_up = threading.Event()

    def run(self) -> None:
        """Wait, drive, stop."""
        if self._is_ready():
            try:
                if self._driver.inside is None:
                    self._drive()
                else:
                    self._driver.inside(self._pid)
            finally:
                self._stop()

    def give_up(self) -> None:
        """End the driver, as the server will be killed now."""
        self._given_up.set()

    def close(self) -> None:
        """Wait up to 5 s for the driver of a server that has ended."""
        self.join(_DRIVER_PATIENCE_S)
        self.give_up()
        self.join()

    def _is_ready(self) -> bool:
        sign = f"no line matched {self._driver.ready!r}"
        if self._driver.ready is None:
            sign = f"{self._driver.address} took no connection"
        self.waits_for = sign
        self.problem = f"was never ready: {sign}"
        with ExitStack() as stack:
            try:
                logs = [
                    stack.enter_context(open_untrusted(log, _LARGEST_LOG_BYTES))
                    for log in self._logs
                ]
            except (OSError, UntrustedFileError) as error:
                self.problem = f"cannot be seen to be ready: {error}"
                return False
            while not self._given_up.wait(_POLL_S):
                ended = self._has_ended()  # checked first: then all its earlier output can be read
                if self._says_so(logs):
                    self.problem = self.waits_for = None
                    return True
                if ended:
                    self.problem = f"ended before it was ready: {sign}"
                    return False
        return False

    def _says_so(self, logs: Sequence[IO[bytes]]) -> bool:
        if self._driver.ready is None:
            return accepts(str(self._driver.address))
        return any(
            re.search(self._driver.ready, line) for log in logs for line in _whole_lines(log)
        )

    def _drive(self) -> None:
        with (
            new_file(driver_output(self._stem)) as out,
            new_file(Path(f"{self._stem}.driver.stderr")) as err,
        ):
            try:
                driver = subprocess.Popen(
                    self._driver.command,
                    cwd=self._driver.workdir or self._program.workdir,
                    env=dict(self._driver.environment),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    process_group=0,  # in this session: the driver is not a process of the run
                )
            except OSError as error:
                self.problem = f"could not be driven: {self._driver.command[0]}: {error}"
                return
            while driver.poll() is None and not self._given_up.wait(_POLL_S):
                continue
            if driver.poll() is None:
                with suppress(ProcessLookupError):
                    os.killpg(driver.pid, signal.SIGKILL)
                self.problem = "was still being driven"
            elif driver.returncode:
                alone = ", the server having ended by itself" if self._has_ended() else ""
                self.problem = (
                    f"was driven by a command that {ended(driver.returncode)}{alone}"
                    f" (see {err.name})"
                )
            driver.wait()
            self.driven_at = time.monotonic()

    def _stop(self) -> None:
        targets = children_of(self._pid) if self._program.by_tracer else [self._pid]
        self.stopped = {self._pid, *(stat.pid for stat in family_of(self._pid))}
        for pid in targets:
            with suppress(ProcessLookupError):
                os.kill(pid, self._driver.stop)
        deadline = time.monotonic() + _STOP_PATIENCE_S
        while not self._has_ended() and not self._given_up.wait(_POLL_S):
            if time.monotonic() > deadline:
                self.problem = self.problem or (
                    f"had not ended {_STOP_PATIENCE_S:g} s after signal {self._driver.stop}"
                )
                with suppress(ProcessLookupError):
                    os.kill(self._pid, signal.SIGKILL)
                return


def driver_output(stem: Path) -> Path:
    """Return the file with the driver's standard output, for a run with the logs `stem`."""
    return Path(f"{stem}.driver.stdout")


def check_address(driver: Driver) -> None:
    """Raise UserError if another server is at the address: it would be driven instead."""
    if driver.address is not None and accepts(driver.address):
        raise UserError(
            f"server.address: {driver.address} accepts connections before the server was started;"
            " stop what listens there, or use another port"
        )


def accepts(address: str) -> bool:
    """Return whether a connection to HOST:PORT is accepted."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S):
            return True
    except OSError:
        return False


def _whole_lines(log: IO[bytes]) -> Iterator[str]:
    """Yield the lines written since the last call, at most 64 MiB at a time.

    An incomplete line is read again later; above a MiB it counts as several lines.
    """
    stop = log.tell() + _MOST_AT_A_TIME_BYTES
    while log.tell() < stop:
        line = log.readline(_LONGEST_LINE_BYTES)
        if not line.endswith(b"\n") and len(line) < _LONGEST_LINE_BYTES:
            log.seek(-len(line), os.SEEK_CUR)
            return
        yield line.decode(errors="replace")
