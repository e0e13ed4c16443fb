"""A stand-alone Spark cluster on the loopback interface: one master and its workers."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from trimtab.errors import TrimtabError
from trimtab.processes.ending import end_family
from trimtab.spark.home import use_spark

_START_S, _END_S = 60.0, 10.0
_DEPLOY = "org.apache.spark.deploy"


@contextmanager
def spark_cluster(
    folder: Path, workers: int = 1, cores: int = 2, memory_mib: int = 1024
) -> Iterator[str]:
    """Start a master and workers of `cores` cores and memory each; yield the cluster's URL.

    They listen on free ports of 127.0.0.1, keep their files in `folder`, have no web pages, and end
    with the block. PySpark has no start scripts, so Spark's classes are started directly. Raises
    UserError when Spark or Java is missing, TrimtabError when a process does not start.
    """
    home = use_spark()
    with ExitStack() as stack:
        master = ["master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
        said = r"Starting Spark master at (spark://127\.0\.0\.1:\d+)"
        url = stack.enter_context(_process(home, folder / "master", master, said))
        for number in range(workers):
            work = folder / f"worker-{number}"
            worker = ["worker.Worker", "--host", "127.0.0.1", "--webui-port", "0"]
            worker += ["--cores", str(cores), "--memory", f"{memory_mib}M"]
            worker += ["--work-dir", str(work), url]
            said = r"(Successfully registered with master)"
            stack.enter_context(_process(home, work, worker, said))
        yield url


@contextmanager
def _process(home: Path, folder: Path, arguments: Sequence[str], said: str) -> Iterator[str]:
    """Run one of Spark's processes; yield the group of the pattern `said` in its log."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log4j2.properties").write_text(
        "rootLogger.level = info\nrootLogger.appenderRef.stderr.ref = stderr\n"
        "appender.stderr.type = Console\nappender.stderr.name = stderr\n"
        "appender.stderr.target = SYSTEM_ERR\nappender.stderr.layout.type = PatternLayout\n"
        "appender.stderr.layout.pattern = %p %c{1}: %m%n\n"
    )
    environment = {
        **os.environ,
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
    }
    command = [str(home / "bin" / "spark-class"), f"{_DEPLOY}.{arguments[0]}", *arguments[1:]]
    process = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    lines: SimpleQueue[str | None] = SimpleQueue()
    reader = Thread(target=_read, args=(process, lines, folder / "log"), daemon=True)
    reader.start()
    try:
        yield _wait_for(re.compile(said), lines, folder / "log")
    finally:
        end_family(process.pid, _END_S)  # of a worker its executors too
        process.wait()
        reader.join()


def _read(process: subprocess.Popen[str], lines: SimpleQueue[str | None], path: Path) -> None:
    assert process.stderr is not None
    with process.stderr, path.open("w", buffering=1) as log:
        for line in process.stderr:
            log.write(line)
            lines.put(line)
    lines.put(None)


def _wait_for(said: re.Pattern[str], lines: SimpleQueue[str | None], log: Path) -> str:
    deadline_s = time.monotonic() + _START_S
    try:
        while (line := lines.get(timeout=max(0.0, deadline_s - time.monotonic()))) is not None:
            if match := said.search(line):
                return match[1]
    except Empty:
        raise TrimtabError(f"Spark did not start in {_START_S:g} s; its log: {log}") from None
    tail = "".join(log.read_text().splitlines(keepends=True)[-5:])
    raise TrimtabError(f"Spark did not start; its log, {log}, ends in:\n{tail}")
