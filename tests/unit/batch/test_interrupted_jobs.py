"""Interruptions: work is conserved, no node has more than it holds, and cases by hand."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_queues import jobs_of, node_type, nodes

from trimtab.batch.images import ImageStart
from trimtab.batch.interruptions.checkpoints import Checkpoint, parse_checkpoint, with_checkpoints
from trimtab.batch.interruptions.preemption import Preemption
from trimtab.batch.interruptions.spot import Reclaims, Spot, parse_spot
from trimtab.batch.policies.max_min import Groups, max_min_shares
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import BatchResult, simulate_batch
from trimtab.batch.sleep import Sleep
from trimtab.batch.throughputs import read_throughputs
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError

POLICIES = ["fcfs", "any_fit", "easy", "conservative", "max_min:round_s=20"]


@st.composite
def queues(draw: st.DrawFn) -> list[dict[str, float]]:
    rows, now_s = [], 0.0
    for _ in range(draw(st.integers(1, 12))):
        row = {
            "submit_s": now_s,
            "run_s": float(draw(st.integers(0, 200))),
            "cpu_milli": 1000 * draw(st.integers(1, 4)),
            "parts": draw(st.integers(1, 2)),
            "priority": draw(st.integers(0, 2)),
        }
        if draw(st.booleans()):
            row |= {"checkpoint_interval_s": float(draw(st.integers(1, 60))),
                    "checkpoint_cost_s": float(draw(st.integers(0, 3))),
                    "restart_cost_s": float(draw(st.integers(0, 5)))}  # fmt: skip
        rows.append(row)
        now_s += draw(st.sampled_from([0, 1, 30]))
    return rows


def test_a_round_without_jobs_is_none() -> None:
    """The first job is over when a node is reclaimed, and the second not submitted."""
    jobs, cluster = jobs_of([{"run_s": 0.0}, {"submit_s": 30.0, "run_s": 7.0}]), nodes(3, 4)
    reclaims = Reclaims([Spot("node", 5.0, 20.0, 0.0)], cluster, 0)
    policy = build_batch_policy("max_min:round_s=20")[1]
    result = simulate_batch(jobs, cluster, policy, reclaims=reclaims)
    assert result.runs["end_s"].tolist() == [0.0, 47.0]  # it starts with the round of 40 s


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25, deadline=None)
@given(
    rows=queues(),
    rate=st.sampled_from([0.0, 5.0, 15.0]),
    seed=st.integers(0, 99),
    notice_s=st.sampled_from([0.0, 2.0]),
    sleeps=st.booleans(),
)
def test_work_is_conserved_and_nodes_hold_no_more_than_they_have(
    policy: str,
    rows: list[dict[str, float]],
    rate: float,
    seed: int,
    notice_s: float,
    sleeps: bool,
) -> None:
    jobs, cluster = jobs_of(rows), nodes(3, 4)
    reclaims = Reclaims([Spot("node", rate, 20.0, notice_s)], cluster, seed) if rate else None
    result = simulate_batch(
        jobs,
        cluster,
        build_batch_policy(policy)[1],
        reclaims=reclaims,
        preemption=Preemption(None) if "max_min" not in policy else None,
        sleep=Sleep(15.0, 4.0) if sleeps else None,
        keep_allocations=True,
    )
    runs = result.runs
    lasted_s = runs["end_s"] - runs["start_s"]
    work_s = lasted_s - runs["restart_s"] - runs["checkpoint_s"] - runs["lost_s"]
    assert work_s.groupby(runs["job"]).sum().to_numpy() == pytest.approx(jobs["run_s"], abs=1e-6)
    _check_capacity(result, jobs["cpu_milli"], 4000)
    for _, own in runs.groupby("job"):
        own = own.sort_values("start_s", kind="stable")
        assert (own["start_s"].to_numpy()[1:] >= own["end_s"].to_numpy()[:-1]).all()
    caused = {"reclaim"} if rate else set()
    caused |= {"round"} if "max_min" in policy else {"priority"}
    assert set(runs["interrupted_by"]) <= caused | {""}


def _check_capacity(result: BatchResult, cpu_milli: "pd.Series[int]", whole: int) -> None:
    """No node has more at any time than it holds."""
    assert result.allocations is not None
    for _, own in result.allocations.groupby("node"):
        used = cpu_milli.to_numpy()[own["job"]] * own["parts"].to_numpy()
        runs = result.runs.iloc[own["run"]]
        times = np.concatenate([runs["start_s"], runs["end_s"]])
        changes = np.concatenate([used, -used])
        order = np.lexsort((changes, times))
        assert np.cumsum(changes[order]).max(initial=0) <= whole


class Given(Reclaims):
    """Reclaims of given nodes at given times."""

    def __init__(self, spot: Spot, *times: tuple[float, int]) -> None:
        self._spots = {node: spot for _, node in times}
        self._next = sorted(times)
        self._type_of_node = np.zeros(8, np.int64)

    def _draw(self, node: int, from_s: float) -> None:
        pass


def test_a_round_without_jobs_asks_no_policy() -> None:
    jobs, cluster = jobs_of([{"run_s": 1.0}, {"submit_s": 50.0, "run_s": 1.0}]), nodes(3, 4)
    away = Given(Spot("node", 1.0, 70.0), (5.0, 0))  # over the rounds at 20, 40 and 60 s
    _, policy = build_batch_policy("max_min:round_s=20")
    result = simulate_batch(jobs, cluster, policy, reclaims=away)
    assert result.schedule["wait_s"].tolist() == [0.0, 10.0]


@pytest.mark.parametrize("policy", POLICIES[:4])
@settings(max_examples=15, deadline=None)
@given(rows=queues())
def test_nodes_that_are_never_reclaimed_change_nothing(
    policy: str, rows: list[dict[str, float]]
) -> None:
    jobs, cluster = jobs_of(rows), nodes(3, 4)
    built = build_batch_policy(policy)[1]
    never = simulate_batch(
        jobs, cluster, built, reclaims=Reclaims([Spot("node", 1e-12)], cluster, 1)
    )
    pd.testing.assert_frame_equal(never.schedule, simulate_batch(jobs, cluster, built).schedule)


@pytest.mark.parametrize(("notice_s", "lost_s", "end_s"), [(0, 50, 177), (4, 50, 177), (5, 0, 132)])
def test_a_checkpoint_is_written_within_the_notice(
    notice_s: float, lost_s: float, end_s: float
) -> None:
    """From 50 s to 70 s the node is away; the restart takes 7 s."""
    jobs = with_checkpoints(jobs_of([{"run_s": 100.0}]), Checkpoint(np.inf, 5.0, 7.0))
    reclaims = Given(Spot("node", 1.0, 20.0, notice_s), (50.0, 0))
    result = simulate_batch(jobs, nodes(1, 1), build_batch_policy("easy")[1], reclaims=reclaims)
    assert result.runs["lost_s"].tolist() == [lost_s, 0.0]
    assert result.schedule["end_s"].tolist() == [end_s]


@pytest.mark.parametrize(
    ("policy", "starts"), [("fcfs", [30, 0, 120]), ("conservative", [110, 0, 100])]
)
def test_reservations_come_before_jobs_that_are_interrupted(
    policy: str, starts: list[float]
) -> None:
    """The third needs both nodes from 100 s on; the first begins again, which takes 90 s."""
    jobs = jobs_of([{"run_s": 90.0}, {"run_s": 100.0}, {"submit_s": 1.0, "parts": 2}])
    reclaims = Given(Spot("node", 1.0, 20.0), (10.0, 0))
    result = simulate_batch(jobs, nodes(2, 1), build_batch_policy(policy)[1], reclaims=reclaims)
    last = result.runs[result.runs["interrupted_by"] == ""]
    assert last["start_s"].tolist() == starts


def test_images_are_lost_with_a_node_and_not_by_preemption() -> None:
    rows = jobs_of([{"run_s": 100.0, "image": "a"},
                    {"submit_s": 20.0, "image": "a", "priority": 1}])  # fmt: skip
    images = {"a": ImageStart(10.0, 1.0, None)}
    easy = build_batch_policy("easy")[1]
    result = simulate_batch(rows, nodes(1, 1), easy, images=images, preemption=Preemption(None))
    assert result.schedule["end_s"].tolist() == [132.0, 31.0]
    assert (result.pulls, result.cold_starts) == ({"a": 1}, 1)
    reclaims = Given(Spot("node", 1.0, 20.0), (50.0, 0))
    result = simulate_batch(rows[:1], nodes(1, 1), easy, images=images, reclaims=reclaims)
    assert result.schedule["end_s"].tolist() == [180.0]
    assert result.schedule["startup_s"].tolist() == [20.0]
    assert (result.pulls, result.cold_starts) == ({"a": 2}, 1)


def test_a_reclaimed_node_is_not_paid_and_comes_back_switched_off() -> None:
    jobs = jobs_of([{"run_s": 3600.0}, {"submit_s": 36_000.0, "run_s": 3600.0}])
    reclaims = Given(Spot("node", 1.0, 7200.0), (1800.0, 0))
    off = {"node": Sleep(600.0, 60.0, 0.0, off=True)}
    result = simulate_batch(
        jobs, nodes(1, 1), build_batch_policy("fcfs")[1], reclaims=reclaims, autoscale=off
    )
    # Half an hour; a boot and an hour, and as long as it idles; the same again to the last end.
    assert result.hours_on["node"] == pytest.approx((1800 + 60 + 3600 + 600 + 60 + 3600) / 3600)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_checkpoints_take_time_but_do_not_interrupt(policy: str) -> None:
    jobs = with_checkpoints(jobs_of([{"run_s": 100.0}]), Checkpoint(10.0, 1.0, 5.0))
    result = simulate_batch(jobs, nodes(1, 1), build_batch_policy(policy)[1])
    assert result.schedule["end_s"].tolist() == [109.0]  # none at the end
    assert result.interruptions.count == 0


def test_a_job_without_checkpoints_begins_again() -> None:
    cluster = nodes(1, 1)
    reclaims = Reclaims([Spot("node", 20.0, 50.0)], cluster, 3)
    first_s = reclaims.next_s()
    result = simulate_batch(
        jobs_of([{"run_s": first_s + 1}]), cluster, build_batch_policy("fcfs")[1], reclaims=reclaims
    )
    runs = result.runs
    assert runs["lost_s"].iloc[0] == runs["end_s"].iloc[0] == first_s
    assert runs["start_s"].iloc[1] == first_s + 50.0


def test_a_job_that_never_ends_is_an_error() -> None:
    cluster = nodes(1, 1)
    reclaims = Reclaims([Spot("node", 3600.0, 1.0)], cluster, 3)
    with pytest.raises(UserError, match="lower rate of --spot"):
        simulate_batch(
            jobs_of([{"run_s": 1e6}]), cluster, build_batch_policy("easy")[1], reclaims=reclaims
        )


def test_max_min_by_hand() -> None:
    """Two GPUs; one job is 3 times as fast on the first, the other equally fast on both."""
    groups = Groups(
        jobs=np.array([1, 1]),
        width=np.array([1.0, 1.0]),
        demands=np.array([[0.0, 1000.0, 0.0]] * 2),
        rates=np.array([[3.0, 1.0], [1.0, 1.0]]),
        capacity=np.array([[0.0, 1000.0, 0.0]] * 2),
    )
    assert max_min_shares(groups) == pytest.approx(np.eye(2), abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(
    rates=st.lists(st.tuples(*[st.floats(0.1, 10.0)] * 3), min_size=1, max_size=6),
    gpus=st.tuples(*[st.integers(1, 8)] * 3),
)
def test_max_min_gives_each_job_its_equal_share_at_least(
    rates: list[tuple[float, float, float]], gpus: tuple[int, int, int]
) -> None:
    jobs, table = len(rates), np.array(rates)
    capacity = np.array([[0.0, 1000.0 * each, 0.0] for each in gpus])
    one = np.ones(jobs)
    demands = np.array([[0.0, 1000.0, 0.0]] * jobs)
    shares = max_min_shares(Groups(one.astype(int), one, demands, table, capacity))
    assert (shares.sum(axis=1) <= 1 + 1e-6).all()
    assert (shares.sum(axis=0) <= np.array(gpus) + 1e-6).all()
    sizes = np.array(gpus) / sum(gpus)
    equal = table @ sizes * min(1.0, sum(gpus) / jobs)
    assert ((shares * table).sum(axis=1) >= equal * (1 - 1e-5)).all()


def test_throughputs_set_run_times_on_other_gpus() -> None:
    types = tuple(node_type(f"gpu_{name}", 8, gpus=1) for name in ("v100", "k80"))
    jobs = jobs_of([{"gpu_milli": 1000, "model": "CycleGAN"}] * 2)
    table = read_throughputs("gavel")
    result = simulate_batch(
        jobs, Cluster(types, (1, 1)), build_batch_policy("fcfs")[1], throughputs=table
    )
    ratio = 4.42609 / 0.504771  # of the table
    assert result.schedule["end_s"].tolist() == pytest.approx([10.0, 10.0 * ratio], rel=1e-5)


@pytest.mark.parametrize(
    "text",
    ["", "1", "a:b", "0:1", "10:-1", "10:1:inf", "1:2:3:4", "nan:1", "1:1e300", "1:1:3e6",
     "1e300:1", "inf:inf"],
)  # fmt: skip
def test_a_wrong_checkpoint_is_an_error(text: str) -> None:
    with pytest.raises(UserError, match="INTERVAL:COST"):
        parse_checkpoint(text)


@pytest.mark.parametrize(
    "text",
    ["", "node", "node=0", "node=1:0", "x=1", "node=1,node=2", "node=nan", "node=1:1e15",
     "node=1:60:1e15", "node=1e9", "node=1:60:-1"],
)  # fmt: skip
def test_a_wrong_spot_is_an_error(text: str) -> None:
    with pytest.raises(UserError, match="--spot"):
        parse_spot(text, nodes(1, 1))


def test_the_longest_times_are_taken() -> None:
    assert parse_checkpoint("2592000:2592000:2592000") == (2592000.0,) * 3
    assert parse_checkpoint("inf:0").interval_s == float("inf")
    assert parse_spot("node=3600:2592000:2592000", nodes(1, 1)) == [
        Spot("node", 3600.0, 2592000.0, 2592000.0)
    ]


def test_nodes_that_are_never_there_at_once_end_the_simulation() -> None:
    cluster = nodes(4, 1)
    reclaims = Reclaims([Spot("node", 1.0, 2592000.0)], cluster, 1)
    jobs = jobs_of([{"parts": 4, "run_s": 36000.0, "cpu_milli": 1000}])
    with pytest.raises(UserError, match="1 jobs wait, and none started during 401 reclaims"):
        simulate_batch(jobs, cluster, build_batch_policy("easy")[1], reclaims=reclaims)
