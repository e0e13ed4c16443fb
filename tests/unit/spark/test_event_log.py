"""`samples/event_log.json` is what Spark 4.3.0 logged of two jobs, shortened.

The first, `words-1`, ran all of its 3 map and 2 result tasks; the second, `words-0`, at a drop
ratio of a half. Left out are the environment, stack traces and accumulables.
"""

from pathlib import Path

import pandas as pd
import pytest

from trimtab.errors import UserError
from trimtab.spark.event_log import EventLog, job_times, read_event_log

SAMPLE = Path(__file__).parent / "samples" / "event_log.json"
RUNS = pd.DataFrame(
    {
        "group": ["words-1", "words-0"],
        "start_s": [1795257986.031744, 1795257986.915848],
        "finish_s": [1795257986.903523, 1795257987.370871],
    }
)


@pytest.fixture
def log() -> EventLog:
    return read_event_log(SAMPLE)


def test_every_task_is_a_row(log: EventLog) -> None:
    counts = log.tasks.groupby(["group", "stage", "kind"]).size().to_dict()
    assert counts == {
        ("words-1", 2, "map"): 3, ("words-1", 3, "result"): 2,
        ("words-0", 4, "map"): 2, ("words-0", 5, "result"): 2,
    }  # fmt: skip
    first = log.tasks[(log.tasks.stage == 2) & (log.tasks.task == 0)].iloc[0]
    assert first.finish_s - first.launch_s == pytest.approx(0.157, abs=0.05)
    assert (first.run_s, round(first.executor_cpu_s, 6)) == (0.134, 0.013004)
    assert log.tasks.succeeded.all()
    assert ((log.tasks.launch_s > RUNS.start_s[0]) & (log.tasks.finish_s < RUNS.finish_s[1])).all()


def test_every_stage_says_what_was_dropped(log: EventLog) -> None:
    stages = log.stages.set_index("stage")
    assert stages.kind.to_dict() == {2: "map", 3: "result", 4: "map", 5: "result"}
    assert stages.tasks.to_dict() == {2: 3, 3: 2, 4: 2, 5: 2}
    assert stages.dropped_tasks.to_dict() == {2: 0, 3: 0, 4: 1, 5: 0}
    assert stages.executor_cpu_s[2] == pytest.approx(0.043349, abs=1e-6)
    assert (stages.submitted_s < stages.completed_s).all() and stages.succeeded.all()


def test_the_parts_of_a_job_add_up(log: EventLog) -> None:
    times = job_times(log, RUNS)
    parts = times.setup_s + times.map_s + times.shuffle_s + times.reduce_s
    assert parts.to_numpy() == pytest.approx((RUNS.finish_s - RUNS.start_s).to_numpy(), abs=1e-6)
    assert times.map_s.round(3).tolist() == [0.282, 0.17]
    assert times.shuffle_s.round(3).tolist() == [0.010, 0.033]
    assert times[["map_tasks", "reduce_tasks"]].to_numpy().tolist() == [[3, 2], [2, 2]]
    assert times.map_task_s.to_numpy() == pytest.approx([0.147667, 0.1515], abs=1e-6)
    assert times.setup_s.to_numpy() == pytest.approx([0.475779, 0.157022], abs=1e-5)
    assert times.reduce_task_s.to_numpy() == pytest.approx([0.0725, 0.0875], abs=1e-6)


def test_groups_are_told_apart(log: EventLog) -> None:
    only = log.of_groups(["words-0"])
    assert set(only.tasks.stage) == set(only.stages.stage) == {4, 5}


def test_a_log_that_is_being_written_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "log.inprogress"
    text = SAMPLE.read_text()
    path.write_text(text[: text.rindex('{"Event":"SparkListenerTaskEnd"') + 300])
    assert len(read_event_log(path).tasks) == 8


@pytest.mark.parametrize("content", [b"", b"words\n", b"\x28\xb5\x2f\xfd\x00\xff\xfe"])
def test_what_is_no_event_log(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"log: no event log of Spark.*spark\.eventLog\.compress"):
        read_event_log(path)
