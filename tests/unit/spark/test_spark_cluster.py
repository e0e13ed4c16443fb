"""A session on a stand-alone cluster: tasks are dropped before they reach the executors."""

import os
import subprocess
import sys
from pathlib import Path

import psutil

from trimtab.spark.standalone import spark_cluster

JOB = """
import sys
from pathlib import Path
from trimtab.spark.dropping import drop
from trimtab.spark.event_log import read_event_log
from trimtab.spark.session import spark_session

with spark_session(Path(sys.argv[2]), slots=2, master=sys.argv[1]) as session:
    total = drop(session.context.parallelize(range(100), 10), 0.5, 0).count()
    session.flush()
    tasks = read_event_log(session.event_log).tasks
    print(total, len(tasks), session.context._jsc.sc().getExecutorMemoryStatus().size())
"""


def spark_processes(folder: Path) -> list[psutil.Process]:
    """Return the processes of Spark that were started for `folder`."""
    found = []
    for process in psutil.process_iter():
        try:
            of_folder = process.environ().get("SPARK_CONF_DIR", "").startswith(str(folder))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        if of_folder and process.status() != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def test_jobs_run_on_a_cluster_that_leaves_nothing_behind(
    spark_folder: Path, tmp_path: Path
) -> None:
    with spark_cluster(tmp_path, workers=2, cores=1, memory_mib=768) as url:
        assert url.startswith("spark://127.0.0.1:")
        started = spark_processes(tmp_path)
        assert len(started) >= 3
        connections = [each for process in started for each in process.net_connections()]
        addresses = {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN}
        assert {address.removeprefix("::ffff:") for address in addresses} == {"127.0.0.1"}
        job = subprocess.run(
            [sys.executable, "-c", JOB, url, str(tmp_path / "log")],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        # Half of 100 numbers, in 5 of 10 tasks, on the driver and two executors.
        assert job.stdout.split() == ["50", "5", "3"], job.stderr
    assert spark_processes(tmp_path) == []
