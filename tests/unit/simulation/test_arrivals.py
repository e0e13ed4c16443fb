import numpy as np
import pandas as pd
import pytest

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.clusters.round_times import service_times
from trimtab.clusters.rounds import RoundServiceTimes
from trimtab.errors import UserError
from trimtab.simulation.arrivals import Arrivals

NODE = NodeType("node", 4000, 8, 1.0, (Level(1.0, 1.0),), gpu_milli=1000)
CLUSTER = Cluster((NODE,), (2,))
ROUNDS = RoundServiceTimes(1.0, 2.0, 0.5, 1.5)
CLASSES = (JobClass("plain"), JobClass("staged", rounds=ROUNDS))


def trace(jobs: int = 4, **columns: object) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "job": np.arange(jobs),
            "arrival_s": np.arange(jobs) / 2,
            "job_class": ["plain"] * jobs,
            "priority": 0,
            "cpu_milli": 1000,
            "gpu_milli": 0,
            "memory_bytes": 1,
            "work_s": 1.0,
            "map_tasks": 0,
            "reduce_tasks": 0,
        }
        | columns
    )


def arrivals(**drop_ratio: float) -> Arrivals:
    return Arrivals(CLUSTER, CLASSES, drop_ratio, 3)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("arrival_s", [0.0, -1.0, 1.0, 2.0], r"job 1 \(row 1\): arrival_s: -1.0"),
        ("arrival_s", [0.0, 2.0, 1.0, 2.0], r"job 2 \(row 2\): arrival_s: 1.0, .*no earlier"),
        ("arrival_s", [0.0, 1.0, np.inf, np.inf], r"job 2 .*arrival_s: inf"),
        ("work_s", [1.0, np.nan, 1.0, 1.0], r"job 1 .*work_s: nan, expected a time"),
        ("work_s", [1.0, 1.0, 1.0, -0.5], r"job 3 .*work_s: -0.5"),
        ("job", [0, 1, 1, 2], r"row 2\): job: 1, expected a number above"),
        (
            "job_class",
            ["plain", "plain", "odd", "plain"],
            r"job 2 .*'?odd'?, expected one of plain",
        ),
        ("job_class", ["plain", None, "plain", "plain"], r"job 1 .*expected one of plain, staged"),
        ("cpu_milli", [0, 0, -5, 0], r"job 2 .*cpu_milli.*-5"),
        ("cpu_milli", [1, 1, 1, 4001], r"job 3 .*asks for 4001 mCPU.*more than any node"),
        ("gpu_milli", [1, 1, 1001, 1], r"job 2 .*1001 mGPU"),
        ("memory_bytes", [9, 1, 1, 1], r"job 0 .*9 bytes"),
        ("map_tasks", [0, -1, 0, 0], r"job 1 .*map_tasks: -1"),
        ("priority", [0, 1, np.nan, 0], r"priority has missing values"),
    ],
)
def test_bad_rows_are_named(column: str, values: list, message: str) -> None:
    with pytest.raises(UserError, match=message):
        arrivals().chunk(trace(**{column: values}))


def test_rows_are_counted_over_chunks() -> None:
    ours = arrivals()
    frame = trace(8)
    ours.chunk(frame[:4])
    frame.loc[6, "work_s"] = -1.0
    with pytest.raises(UserError, match=r"job 6 \(row 6\)"):
        ours.chunk(frame[4:])


def test_time_does_not_go_back_between_chunks() -> None:
    ours = arrivals()
    ours.chunk(trace(4))
    later = trace(4, job=np.arange(4, 8), arrival_s=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(UserError, match=r"job 4 \(row 4\): arrival_s: 1.0"):
        ours.chunk(later)


def test_missing_columns_are_named() -> None:
    with pytest.raises(UserError, match="work_s are missing"):
        arrivals().chunk(trace().drop(columns="work_s"))


def test_equal_jobs_have_one_shape_however_many_shapes_there_are() -> None:
    numbers = np.random.default_rng(0)
    columns = {
        "priority": numbers.integers(-3, 3, 5000),
        "cpu_milli": numbers.integers(0, 4001, 5000),
        "memory_bytes": numbers.integers(0, 9, 5000),
        "job_class": numbers.choice(["plain", "staged"], 5000),
    }
    frame = trace(5000, **columns)
    ours = arrivals()
    shapes = np.concatenate(
        [ours.chunk(frame[at : at + 700])["shape"] for at in range(0, 5000, 700)]
    )
    keys = list(zip(*columns.values(), strict=True))
    assert len(set(keys)) == ours.count == len(set(shapes))
    assert len(set(zip(keys, shapes, strict=True))) == ours.count
    for key, number in zip(keys, shapes, strict=True):
        shape = ours.shapes[number]
        assert (shape["priority"], shape["cpu"], shape["memory"]) == key[:3]


def test_staged_jobs_draw_their_times_and_drop_tasks() -> None:
    frame = trace(
        job_class=["staged", "plain", "staged", "staged"],
        work_s=[np.nan, 7.0, np.nan, 5.0],
        map_tasks=[10, 0, 20, 10],
        reduce_tasks=[3, 0, 0, 3],
        cpu_milli=4000,
        size=[2.0, 2.0, 1.0, 2.0],
    )
    chunk = arrivals(staged=0.25).chunk(frame)
    columns = (np.array(values) for values in ([0, 2], [10, 20], [3, 0], [4, 4]))
    work_s, dropped = service_times(ROUNDS, 3, *columns, 0.25)
    # Work that is given is that of the job as large as it is.
    assert chunk["work_s"].tolist() == [2.0 * work_s[0], 7.0, work_s[1], 5.0]
    assert chunk["dropped"].tolist() == [dropped[0], 0, dropped[1], 0] == [2, 0, 5, 0]
    assert frame["work_s"].isna().sum() == 2  # the caller's frame is as it was


def test_staged_jobs_need_rounds() -> None:
    frame = trace(work_s=np.nan, map_tasks=3)
    with pytest.raises(UserError, match=r"job 0 .*class 'plain' no rounds"):
        arrivals().chunk(frame)


def test_ratios_of_unknown_classes_are_refused() -> None:
    with pytest.raises(UserError, match="unknown job classes"):
        arrivals(other=0.1)
