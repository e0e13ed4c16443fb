import math
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType, Outage
from trimtab.clusters.rounds import RoundServiceTimes
from trimtab.errors import UserError
from trimtab.policies.base import NodeState, PendingTask, Placement, Policy
from trimtab.policies.dias import Dias
from trimtab.policies.fcfs import FirstComeFirstServed
from trimtab.policies.heats.policy import Heats
from trimtab.policies.priority import Priority
from trimtab.records.parquet.files import read_table, write_table
from trimtab.records.tables import ALLOCATIONS, LOAD, NODES, SCHEDULED, TRACE
from trimtab.simulation.simulate import simulate

NODE = NodeType("node", 2000, 8, 10.0, (Level(0.5, 15.0), Level(1.0, 40.0)), 0, (), 4.0)
CLUSTER = Cluster((NODE,), (2,))
ROUNDS = RoundServiceTimes(0.1, 0.5, 0.1, 0.3)
CLASSES = (JobClass("low"), JobClass("high", image_bytes=2, cold_start_s=0.25, rounds=ROUNDS))


def trace(jobs: int = 2000, seed: int = 1, rate: float = 2.0) -> pd.DataFrame:
    numbers = np.random.default_rng(seed)
    high = numbers.random(jobs) < 0.3
    staged = high & (numbers.random(jobs) < 0.5)
    return pd.DataFrame(
        {
            "job": np.arange(jobs),
            "arrival_s": np.cumsum(numbers.exponential(1 / rate, jobs)),
            "job_class": np.where(high, "high", "low"),
            "priority": high.astype(int),
            "cpu_milli": numbers.integers(1, 3, jobs) * 1000,
            "gpu_milli": 0,
            "memory_bytes": numbers.integers(0, 5, jobs),
            "work_s": np.where(staged, np.nan, numbers.exponential(0.7, jobs)),
            "map_tasks": np.where(staged, 4, 0),
            "reduce_tasks": np.where(staged, 2, 0),
            "size": np.where(staged, 1.5, 1.0),
        }
    )


def test_files_hold_what_frames_do(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    write_table(path, TRACE, trace())
    policy = Priority("repeat")
    kept = simulate(CLUSTER, CLASSES, trace(), policy, seed=3, sample_s=20.0)
    streamed = simulate(
        CLUSTER, CLASSES, path, policy, seed=3, sample_s=20.0, folder=tmp_path / "out"
    )
    assert (streamed.jobs, streamed.allocations, streamed.load) == (None, None, None)
    for name, schema in (
        ("jobs", SCHEDULED),
        ("allocations", ALLOCATIONS),
        ("load", LOAD),
        ("nodes", NODES),
    ):
        frame = read_table(tmp_path / "out" / f"{name}.parquet", schema)
        pd.testing.assert_frame_equal(frame, getattr(kept, name), check_dtype=False)
    assert (streamed.classes, streamed.total) == (kept.classes, kept.total)
    assert kept.simulator == "kernel"


def test_a_failed_simulation_leaves_no_files(tmp_path: Path) -> None:
    bad = trace()
    bad.loc[1500, "cpu_milli"] = 3000
    chunks = (bad[at : at + 500] for at in range(0, 2000, 500))
    with pytest.raises(UserError, match="job 1500"):
        simulate(CLUSTER, CLASSES, chunks, Priority(), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_trace_is_checked_before_the_simulation_begins() -> None:
    class Never(Policy):
        def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
            raise AssertionError("it has begun")

    bad = trace()
    bad.loc[1999, "cpu_milli"] = 3000
    with pytest.raises(UserError, match="job 1999"):
        simulate(CLUSTER, CLASSES, bad, Never())


def test_other_tables_are_not_taken_for_traces(tmp_path: Path) -> None:
    trace().drop(columns="map_tasks").to_parquet(tmp_path / "trace.parquet")
    with pytest.raises(UserError, match="expected job, arrival_s"):
        simulate(CLUSTER, CLASSES, tmp_path / "trace.parquet", Priority())


@pytest.mark.filterwarnings("ignore:offered load")
def test_the_summary_is_that_of_the_jobs() -> None:
    frame = trace(rate=3.5)
    result = simulate(CLUSTER, CLASSES, frame, Priority("repeat"))
    jobs = result.jobs
    assert jobs is not None
    cpu = frame.set_index("job")["cpu_milli"].loc[jobs["job"]].to_numpy()
    jobs = jobs.assign(wasted=jobs["wasted_s"] * cpu, ran=jobs["execution_s"] * cpu)
    groups = {**dict(iter(jobs.groupby("job_class"))), "all": jobs}
    for name, of_one in groups.items():
        found = vars(result.total if name == "all" else result.classes[name])
        assert found["jobs"] == len(of_one)
        assert found["response_mean_s"] == pytest.approx(of_one["response_s"].mean())
        assert found["execution_mean_s"] == pytest.approx(of_one["execution_s"].mean())
        waiting_s = of_one["response_s"] - of_one["execution_s"]
        assert found["waiting_mean_s"] == pytest.approx(waiting_s.mean())
        for rank in (50, 95, 99):
            exact = np.percentile(of_one["response_s"], rank, method="inverted_cdf")
            assert found[f"response_p{rank}_s"] == pytest.approx(exact, rel=1e-3)
        share = of_one["wasted"].sum() / (of_one["wasted"] + of_one["ran"]).sum()
        assert found["waste_share"] == pytest.approx(share)
        assert (share > 0) == (name != "high")
        for key in ("evictions", "migrations", "dropped_tasks", "energy_j"):
            assert found[key] == pytest.approx(of_one[key].sum())
    nodes = result.nodes
    every = result.total
    assert every.makespan_s == jobs["finish_s"].max()
    assert every.idle_energy_j == pytest.approx(2 * 10.0 * every.makespan_s)
    assert every.active_energy_j == pytest.approx(nodes["active_energy_j"].sum())
    assert every.utilisation == pytest.approx(nodes["busy_core_s"].sum() / every.makespan_s / 4)


def test_a_seed_decides_the_rounds_times() -> None:
    responses = [
        simulate(CLUSTER, CLASSES, trace(), Priority(), seed=seed).total.response_mean_s
        for seed in (1, 1, 2)
    ]
    assert responses[0] == responses[1] != responses[2]


def test_dropping_shortens_and_counts() -> None:
    whole = simulate(CLUSTER, CLASSES, trace(), Dias(level=-1))
    fewer = simulate(CLUSTER, CLASSES, trace(), Dias(drop_ratio={"high": 0.5}, level=-1))
    staged = int((trace()["map_tasks"] > 0).sum())
    assert whole.total.dropped_tasks == 0
    assert fewer.classes["high"].dropped_tasks == staged * (2 + 1)
    means = [r.classes["high"].execution_mean_s for r in (whole, fewer)]
    assert means[1] < means[0]


class WorstFit(FirstComeFirstServed):
    """A user's own policy, that the kernel does not know."""

    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        return Placement(max(nodes, key=lambda state: state.free_cpu_milli).node, self.level)


def test_a_users_policy_runs_in_the_reference() -> None:
    result = simulate(CLUSTER, CLASSES, trace(200, rate=0.5), WorstFit())
    assert result.simulator == "reference"
    known = simulate(CLUSTER, CLASSES, trace(200, rate=0.5), FirstComeFirstServed())
    assert result.jobs is not None and known.jobs is not None
    assert len(result.jobs) == len(known.jobs) == 200
    # The emptier node, by turns, against the first.
    busy = [one.nodes["busy_core_s"] for one in (result, known)]
    assert abs(busy[0][0] - busy[0][1]) < abs(busy[1][0] - busy[1][1])


@pytest.mark.parametrize("rate", [1.0, 20.0])
@pytest.mark.parametrize("whole", [True, False])
def test_an_unstable_load_is_warned_of(rate: float, whole: bool) -> None:
    frame = trace(500, rate=rate)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulate(CLUSTER, CLASSES, frame if whole else iter([frame]), Priority())
    messages = [str(warning.message) for warning in caught]
    assert [("offered load" in message) for message in messages] == [True] * (rate == 20.0)


def test_jobs_that_never_find_a_place_are_warned_of() -> None:
    cluster = Cluster((NODE,), (2,), (Outage(0, 0.0), Outage(1, 0.0)))
    with pytest.warns(UserWarning, match="10 jobs never found a place"):
        result = simulate(cluster, CLASSES, trace(10), Priority())
    assert result.total.unfinished == 10
    assert result.classes == {}


@pytest.mark.parametrize("reference", [False, True])
def test_maintenance_sees_each_finished_job_once_and_may_change_the_policy(reference: bool) -> None:
    other = NodeType("other", 2000, 8, 10.0, (Level(1.0, 40.0),))
    cluster = Cluster((NODE, other), (2, 2))

    def heats(first: float, second: float) -> Heats:
        table = np.array([[[first, first], [second, second]]] * 2)
        return Heats(
            table, table, [2, 1], energy_weight=0.0, tick_s=math.inf, maintain_s=100.0,
            maintenance=maintenance,
        )  # fmt: skip

    seen: list[int] = []
    times: list[float] = []

    def maintenance(finished: pd.DataFrame, now_s: float) -> Heats:
        seen.extend(finished["job"])
        times.append(now_s)
        assert (finished["finish_s"] <= now_s).all()
        return heats(2.0, 1.0)

    frame = trace(300, rate=0.5)
    result = simulate(cluster, CLASSES, frame, heats(1.0, 2.0), reference=reference)
    jobs = result.jobs
    assert jobs is not None
    assert seen == jobs["job"].iloc[: len(seen)].tolist()
    assert len(seen) == (jobs["finish_s"] <= times[-1]).sum()
    assert times == [100.0 * (number + 1) for number in range(len(times))]
    early, late = jobs[jobs["start_s"] < 100.0], jobs[jobs["start_s"] > 100.0]
    assert (early["node"] < 2).mean() > 0.8
    assert (late["node"] >= 2).mean() > 0.8


def test_the_load_is_sampled() -> None:
    frame = trace(1, rate=10.0)
    frame = frame.assign(
        arrival_s=1.0, work_s=10.0, cpu_milli=1000, job_class="low", memory_bytes=4, map_tasks=0
    )
    load = simulate(CLUSTER, CLASSES, frame, Priority(), sample_s=0.75).load
    assert load is not None
    assert load["time_s"].tolist() == [0.75 * (number + 1) for number in range(14)]
    idle, busy = load.iloc[0], load.iloc[1]
    assert (idle["running"], idle["power_w"], idle["cpu_p100"]) == (0, 20.0, 0.0)
    assert (busy["running"], busy["power_w"], busy["cpu_p100"]) == (1, 20.0 + 40.0 / 2, 0.5)
    assert (busy["cpu_p0"], busy["cpu_p50"], busy["memory_p100"]) == (0.0, 0.25, 0.5)
