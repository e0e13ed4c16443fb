"""A user's programs on Spark: those of the documentation, and mistakes in them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.execution.queue_file import QueueFile, read_queue
from trimtab.execution.spark.queue import load_programs, run_programs
from trimtab.policies.dias import Dias
from trimtab.policies.priority import Priority
from trimtab.spark.frames import write_partitions
from trimtab.spark.session import Session

PAGE = Path(__file__).parents[4] / "docs" / "how-to" / "schedule.md"
LINES = 800
QUEUE = "classes: {mine: {priority: 0, program: %s}}\njobs: [{class: mine, at_s: 0}]\n"


@pytest.fixture(autouse=True)
def no_modules_allocation() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith(("pyspark", "py4j", "trimtab")):
            del sys.modules[name]


@pytest.fixture
def documented(spark: Session, tmp_path: Path) -> QueueFile:
    """The page's queue and programs, and what they read: 8 parts of each table."""
    from pyspark.sql import SparkSession

    blocks = PAGE.read_text().split("```")
    (tmp_path / "programs.py").write_text(
        next(block.removeprefix("python") for block in blocks if "# programs.py" in block)
    )
    (tmp_path / "queue.yaml").write_text(
        next(block.removeprefix("yaml") for block in blocks if "program:" in block)
    )
    (tmp_path / "posts.txt").write_text("one two two\n" * LINES)
    rows = [("a" if number % 2 else "b", float(number % 2)) for number in range(LINES)]
    frame = SparkSession(spark.context).createDataFrame(rows, ["sensor", "value"])
    write_partitions(frame, tmp_path / "measured", 8)
    return read_queue(tmp_path / "queue.yaml")


def test_the_documented_queue(spark: Session, documented: QueueFile, tmp_path: Path) -> None:
    """A quarter of the low job's map tasks is left out, and so is a quarter of the words."""
    programs = load_programs(spark, documented)
    outcome = run_programs(spark, programs, documented, Dias(drop_ratio={"indexing": 0.25}))
    words = json.loads((tmp_path / "words.json").read_text())
    assert words["two"] == 2 * words["one"]
    assert words["one"] == pytest.approx(0.75 * LINES, rel=0.02)
    assert json.loads((tmp_path / "means.json").read_text()) == {"a": 1.0, "b": 0.0}
    jobs = outcome.jobs.set_index("job_class")
    assert jobs["dropped_tasks"].to_dict() == {"indexing": 2, "report": 0}
    assert outcome.exit_codes == {0: 0, 1: 0}


@pytest.mark.parametrize(
    ("program", "source", "expected"),
    [
        ("missing_file.py:go", None, r"missing_file\.py: expected a Python file"),
        ("no_go.py:go", "", r"no_go\.py: no function go, which class mine names"),
        ("broken_one.py:go", "1 / 0", r"broken_one\.py: ZeroDivisionError"),
        ("json.py:go", "", r"json\.py: there is another module json"),
    ],
)
def test_files_that_are_no_programs(
    spark: Session, tmp_path: Path, program: str, source: str | None, expected: str
) -> None:
    if source is not None:
        (tmp_path / program.partition(":")[0]).write_text(source)
    (tmp_path / "queue.yaml").write_text(QUEUE % program)
    with pytest.raises(UserError, match=expected):
        load_programs(spark, read_queue(tmp_path / "queue.yaml"))


@pytest.mark.parametrize(
    ("file", "body", "expected"),
    [
        (
            "wrong_day",
            "raise ValueError('no such day')",
            r"wrong_day\.py:go: ValueError: no such day",
        ),
        (
            "no_number",
            "context.parallelize([0]).map(lambda x: 1 // x).count()",
            r"(?s)^no_number\.py:go: .*ZeroDivision",
        ),
        ("no_input", "context.textFile('/nowhere').count()", r"(?s)^no_input\.py:go: .*nowhere"),
    ],
)
def test_a_program_that_fails(
    spark: Session, tmp_path: Path, file: str, body: str, expected: str
) -> None:
    (tmp_path / f"{file}.py").write_text(f"def go(context, theta, seed):\n    {body}\n")
    (tmp_path / "queue.yaml").write_text(QUEUE % f"{file}.py:go")
    queue = read_queue(tmp_path / "queue.yaml")
    with pytest.raises(UserError, match=expected):
        run_programs(spark, load_programs(spark, queue), queue, Priority())


def test_a_program_that_asks_nothing_of_spark(spark: Session, tmp_path: Path) -> None:
    (tmp_path / "idle.py").write_text("def go(context, theta, seed):\n    pass\n")
    (tmp_path / "queue.yaml").write_text(QUEUE % "idle.py:go")
    queue = read_queue(tmp_path / "queue.yaml")
    outcome = run_programs(spark, load_programs(spark, queue), queue, Priority())
    assert outcome.jobs["dropped_tasks"].tolist() == [0]


FRAMES = """
from pathlib import Path
from pyspark.sql import SparkSession

DONE = Path(__file__).with_name("done")

def endless_until_the_other_is_done(context, theta, seed):
    rows = 1 if DONE.exists() else 10**15
    SparkSession(context).range(rows).selectExpr("max(id)").collect()

def other(context, theta, seed):
    SparkSession(context).range(10).count()
    DONE.touch()
"""


@pytest.mark.parametrize("arrival_s", [0.05, 0.2, 0.5])
def test_a_job_of_data_frames_is_evicted(spark: Session, tmp_path: Path, arrival_s: float) -> None:
    """Spark says it otherwise than of RDDs that a job was cancelled.

    And it runs a data frame's map tasks though their job was cancelled before it was submitted.
    """
    file = f"of_frames_{1000 * arrival_s:.0f}"
    (tmp_path / f"{file}.py").write_text(FRAMES)
    (tmp_path / "queue.yaml").write_text(
        f"classes:\n  low: {{priority: 0, program: {file}.py:endless_until_the_other_is_done}}\n"
        f"  high: {{priority: 1, program: {file}.py:other}}\n"
        f"jobs: [{{class: low, at_s: 0}}, {{class: high, at_s: {arrival_s}}}]\n"
    )
    queue = read_queue(tmp_path / "queue.yaml")
    programs = load_programs(spark, queue)
    jobs = run_programs(spark, programs, queue, Priority("repeat")).jobs
    assert jobs.set_index("job_class")["evictions"].to_dict() == {"low": 1, "high": 0}
