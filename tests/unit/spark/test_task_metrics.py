"""What tasks cost, against the other reader of the log, and with lines of others in it."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import UserError
from trimtab.spark.event_log import read_event_log
from trimtab.spark.task_metrics import TaskSums, sum_tasks

SAMPLE = Path(__file__).parent / "samples" / "event_log.json"
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
INFO = st.dictionaries(st.sampled_from(["Finish Time", "Launch Time"]), JUNK | st.integers(0, 9))
METRICS = st.dictionaries(
    st.sampled_from(["JVM GC Time", "Shuffle Read Metrics", "Executor CPU Time"]), JUNK
)


def test_it_agrees_with_the_reader_of_tasks() -> None:
    tasks = read_event_log(SAMPLE).tasks
    sums = sum_tasks(SAMPLE)
    assert sums.tasks == len(tasks) == 9
    assert sums.task_s == pytest.approx((tasks.finish_s - tasks.launch_s).sum(), abs=1e-5)
    assert sums.executor_cpu_s == pytest.approx(tasks.executor_cpu_s.sum())
    assert sums.shuffle_read_bytes > 0
    assert sums.shuffle_write_bytes >= sums.shuffle_read_bytes


def test_the_parts_of_a_log_add_up() -> None:
    ends, size = [], 0
    for line in SAMPLE.read_bytes().splitlines(keepends=True):
        size += len(line)
        ends.append(size)
    whole = sum_tasks(SAMPLE)
    from_each = [sum_tasks(SAMPLE, end).tasks for end in ends]
    assert from_each == sorted(from_each, reverse=True)
    assert set(from_each) == set(range(whole.tasks + 1))
    assert sum_tasks(SAMPLE, size) == TaskSums()


def test_a_line_that_is_being_written_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text('{"Event":"SparkListenerTaskEnd","Task Info":{"Launch Ti')
    assert sum_tasks(path) == TaskSums()


@given(st.dictionaries(st.sampled_from(["Task Info", "Task Metrics"]), JUNK | INFO | METRICS))
def test_junk_is_an_error_or_counts(tmp_path_factory: pytest.TempPathFactory, event: dict) -> None:  # type: ignore[type-arg]
    path = tmp_path_factory.mktemp("junk") / "log"
    text = json.dumps({"Event": "SparkListenerTaskEnd", **event}, separators=(",", ":"))
    path.write_text(f"{text}\n")
    try:
        assert sum_tasks(path).tasks == 1
    except UserError as error:
        assert str(path) in str(error)


@pytest.mark.parametrize("text", ["", "{", '"a"', "\0"])
def test_half_an_event_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "log"
    path.write_text(f'{{"Event":"SparkListenerTaskEnd"{text}\n')
    with pytest.raises(UserError, match="no event log of Spark"):
        sum_tasks(path)
