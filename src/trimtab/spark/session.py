"""A Spark session on this machine that writes an event log."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.processes.stat import Stat, family_of
from trimtab.spark.home import use_spark

if TYPE_CHECKING:
    from pyspark import SparkContext

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    # Over TCP every small task waits 40 ms for a delayed acknowledgement between the JVM and its
    # Python worker; Unix sockets avoid this.
    "spark.python.unix.domain.socket.enabled": "true",
    # An evicted job's Python worker holds its slot no longer than this.
    "spark.python.task.killTimeout": "100ms",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    # On a stand-alone cluster, no job starts before all slots are registered.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
}


@dataclass(frozen=True)
class Session:
    """A running Spark: its context, its slots (concurrent tasks) and its event log.

    The event log's name changes at the session's end, so call `event_log` just before reading.
    """

    context: SparkContext
    slots: int
    folder: Path

    @property
    def event_log(self) -> Path:
        """The event log, complete up to the last job that `flush` waited for."""
        return next(self.folder.glob(f"{self.context.applicationId}*"))

    def flush(self) -> None:
        """Wait until the event log holds every job that has ended."""
        # Spark flushes the log's buffer at the end of each job and stage.
        self.context._jsc.sc().listenerBus().waitUntilEmpty()

    def processes(self) -> list[Stat]:
        """Return the driver's Java process and its Python workers: in local mode, all of Spark."""
        return family_of(self.context._jvm.java.lang.ProcessHandle.current().pid())


@contextmanager
def spark_session(
    folder: Path,
    slots: int = 2,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Session]:
    """Yield a session of `slots` slots, whose event log goes to `folder`.

    It runs in one Java process (`local[slots]`) unless `master` is a stand-alone cluster's URL.
    `settings` are Spark's own, by name. Starting takes seconds: use a session for many jobs. A
    process runs one session at a time; all have the first one's driver memory. Raises UserError
    when Spark or Java is missing.
    """
    use_spark()
    from pyspark import SparkConf, SparkContext

    folder.mkdir(parents=True, exist_ok=True)
    conf = SparkConf().setAppName("trimtab").setMaster(master or f"local[{slots}]")
    conf.setAll(list({**_SETTINGS, **(settings or {})}.items()))
    conf.set("spark.cores.max", str(slots))
    conf.set("spark.eventLog.dir", folder.absolute().as_uri())
    conf.set("spark.local.dir", str(folder.absolute() / "blocks"))
    with warnings.catch_warnings():  # it warns of a newer pandas, not used here
        warnings.simplefilter("ignore", FutureWarning)
        context = SparkContext(conf=conf)
    try:
        yield Session(context, slots, folder)
    finally:
        context.stop()


class CpuClock:
    """The CPU time of a changing set of processes from now on.

    The time of ended processes is lost, as Spark's Python daemon ignores its children's end and
    Linux does not add them up. So the time of an evicted job, whose Python workers are killed, is a
    lower bound.
    """

    def __init__(self, processes: Callable[[], Sequence[Stat]]) -> None:
        self._processes = processes
        self._before = self._cpu_s()

    def elapsed_s(self) -> float:
        """Return the CPU seconds since creation."""
        now = self._cpu_s()
        return sum(cpu_s - self._before.get(process, 0.0) for process, cpu_s in now.items())

    def _cpu_s(self) -> dict[tuple[int, int], float]:
        return {(stat.pid, stat.start_ticks): stat.cpu_s for stat in self._processes()}
