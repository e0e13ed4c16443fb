"""`trimtab schedule run` as a person types it: commands on this machine, programs on Spark."""

import subprocess
import sys
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.records.parquet.files import read_table
from trimtab.records.summary import QueueRun
from trimtab.records.tables import ALLOCATIONS, SCHEDULED
from trimtab.spark.home import use_spark

TRIMTAB = Path(sys.executable).parent / "trimtab"
CONF = Path(__file__).parents[2] / "conf"
COMMANDS = """
classes: {high: {priority: 1}, low: {priority: 0}}
jobs:
  - {class: low, at_s: 0, command: [sh, -c, "echo $TRIMTAB_DROP_RATIO"]}
  - {class: high, at_s: 0, command: [sh, -c, "echo $TRIMTAB_DROP_RATIO; exit 3"]}
"""
PROGRAMS = """
classes: {high: {priority: 1, program: mine.py:sums}, low: {priority: 0, program: mine.py:sums}}
jobs: [{class: low, at_s: 0}, {class: high, at_s: 0.1}]
"""
MINE = """
from trimtab.spark.dropping import drop

def doubled(number):
    return 2 * number

def sums(context, theta, seed):
    numbers = drop(context.parallelize(range(100), 10), theta, seed)
    assert numbers.map(doubled).count() == (80 if theta else 100)
"""


def run(folder: Path, queue: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "queue.yaml").write_text(queue)
    command = [TRIMTAB, "schedule", "run", "queue.yaml", "--conf", CONF, "--output", "out", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=180)


def test_commands(tmp_path: Path) -> None:
    """One fails: its code is told, the other's results are there."""
    done = run(tmp_path, COMMANDS, "--policy", "da_0_20")
    assert done.returncode == 2 and "jobs 1 failed" in done.stderr, done.stderr
    jobs = read_table(tmp_path / "out/jobs.parquet", SCHEDULED)
    assert len(jobs) == len(read_table(tmp_path / "out/allocations.parquet", ALLOCATIONS)) == 2
    ended = QueueRun.read(tmp_path / "out/queue.json")
    assert (ended.policy, ended.exit_codes) == ("da_0_20", {0: 0, 1: 3})
    assert (tmp_path / "out/logs/0.stdout").read_text() == "0.2\n"
    assert (tmp_path / "out/logs/1.stdout").read_text() == "0.0\n"


def test_programs_on_spark(tmp_path: Path) -> None:
    """The workers import the file too: its function is sent by name."""
    try:
        use_spark()
    except UserError as error:
        pytest.skip(str(error))
    (tmp_path / "mine.py").write_text(MINE)
    done = run(tmp_path, PROGRAMS, "--policy", "da_0_20")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "out/jobs.parquet\n"
    jobs = read_table(tmp_path / "out/jobs.parquet", SCHEDULED).set_index("job_class")
    assert jobs["dropped_tasks"].to_dict() == {"low": 2, "high": 0}


def test_a_mistake_in_the_queue(tmp_path: Path) -> None:
    done = run(tmp_path, COMMANDS.replace("at_s: 0", "at_s: soon", 1))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "queue.yaml: jobs[0].at_s: 'soon' given" in done.stderr
    assert not (tmp_path / "out").exists()
