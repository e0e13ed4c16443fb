"""A session of Spark in a separate process, so any end of it ends only one run.

The two processes use a socket. A request is a workload, its hyperparameters and a seed; an answer
is the result of `Application.run`, or why it failed. Both ends of the pickled messages are trusted.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from trimtab.characterization.infrastructure import RunMeter
from trimtab.characterization.plan import Run
from trimtab.characterization.platform import Values, slots, spark_settings
from trimtab.config.groups.learning.characterization import PriceModel
from trimtab.errors import TrimtabError
from trimtab.processes.ending import kill

_START_S = 600.0
_END_S = 20.0
_MOST_TEXT = 400
_PAUSE = 40  # times a reading's duration: meters take at most 2.5 % of a processor


class SessionEndedError(TrimtabError):
    """The process of a session ended, or was killed, before its answer."""


@dataclass(frozen=True)
class SparkProcess:
    """A started session: `pid` is of its process, `start_s` is the duration of its start."""

    connection: Connection
    process: "subprocess.Popen[bytes]"
    log: Path
    start_s: float

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self.process.pid

    def ask(
        self, run: Run, meter: RunMeter, interval_s: float, longest_s: float
    ) -> dict[str, Any] | str:
        """Return a run's measurements, or why it failed; `meter` is read every `interval_s`.

        Slow readings, as of many processes with much memory, are less frequent. Raises
        SessionEndedError where the session ended, or took longer than `longest_s`.
        """
        deadline_s = time.monotonic() + longest_s
        try:
            self.connection.send((run.workload, dict(run.hyperparameters), run.repeat))
            pause_s = interval_s
            while not self.connection.poll(pause_s):
                began_s = time.process_time()
                meter.sample()
                pause_s = max(interval_s, _PAUSE * (time.process_time() - began_s))
                if time.monotonic() > deadline_s:
                    self.process.kill()
                    raise SessionEndedError(f"ended after {longest_s:g} s, the longest a run takes")
            answer: dict[str, Any] | str = self.connection.recv()
        except (EOFError, OSError):
            raise SessionEndedError(f"Spark ended during the run; {_tail(self.log)}") from None
        return answer


@contextmanager
def spark_process(
    folder: Path, master: str | None, platform: Values, price: PriceModel
) -> Iterator[SparkProcess]:
    """Start a session on `master`, None for one process, that keeps its files in `folder`.

    It ends, with all its processes, at the end of the block. Raises SessionEndedError where it does
    not start.
    """
    folder.mkdir(parents=True, exist_ok=True)
    here, there = Pipe()
    log = folder / "log"
    began_s = time.monotonic()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve({there.fileno()})"],
            pass_fds=[there.fileno()], stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            start_new_session=True,
        )  # fmt: skip
    there.close()
    try:
        here.send((folder, master, dict(platform), price))
        if not here.poll(_START_S):
            raise SessionEndedError(f"Spark did not start in {_START_S:g} s; {_tail(log)}")
        try:
            here.recv()
        except (EOFError, OSError):
            raise SessionEndedError(f"Spark did not start; {_tail(log)}") from None
        yield SparkProcess(here, process, log, time.monotonic() - began_s)
        with suppress(OSError, subprocess.TimeoutExpired):
            here.send(None)
            process.wait(_END_S)
    finally:
        here.close()
        kill(None, session=process.pid)
        process.wait()


def serve(descriptor: int) -> None:
    """Run a session in this process, for the peer of the socket `descriptor`."""
    from trimtab.characterization.application import Application
    from trimtab.spark.session import spark_session

    connection = Connection(descriptor)
    folder, master, platform, price = connection.recv()
    settings = spark_settings(platform, local=master is None)
    with spark_session(folder, slots(platform), master, settings) as session:
        application = Application(session, platform, price)
        connection.send("ready")
        while (asked := connection.recv()) is not None:
            try:
                answer: dict[str, Any] | str = application.run(*asked)
            except Exception as error:  # any exception of a method is its run's result
                answer = shortened(str(error) or repr(error))
            session.context._jsc.sc().applicationId()  # raises if Spark has ended
            connection.send(answer)


def shortened(text: str) -> str:
    """Return a text in one line, cut to a limited length; Java's errors begin with the cause."""
    return " ".join(text.split())[:_MOST_TEXT]


def _tail(log: Path) -> str:
    with suppress(OSError):
        return "its log ends in: " + shortened(log.read_text(errors="replace")[-_MOST_TEXT:])
    return "it left no log"
