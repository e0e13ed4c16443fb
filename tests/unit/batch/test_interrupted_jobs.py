"""Interruptions: work is conserved, no node has more than it holds, and cases by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_queues import jobs_of, node_type, nodes

from trimtab.batch.interruptions.checkpoints import Checkpoint, parse_checkpoint, with_checkpoints
from trimtab.batch.interruptions.spot import Reclaims, Spot, parse_spot
from trimtab.batch.policies.max_min import Groups, max_min_shares
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import BatchResult, simulate_batch
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
        }
        if draw(st.booleans()):
            row |= {"checkpoint_interval_s": float(draw(st.integers(1, 60))),
                    "checkpoint_cost_s": float(draw(st.integers(0, 3))),
                    "restart_cost_s": float(draw(st.integers(0, 5)))}  # fmt: skip
        rows.append(row)
        now_s += draw(st.sampled_from([0, 1, 30]))
    return rows


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25, deadline=None)
@given(rows=queues(), rate=st.sampled_from([0.0, 5.0, 15.0]), seed=st.integers(0, 99))
def test_work_is_conserved_and_nodes_hold_no_more_than_they_have(
    policy: str, rows: list[dict[str, float]], rate: float, seed: int
) -> None:
    jobs, cluster = jobs_of(rows), nodes(3, 4)
    reclaims = Reclaims([Spot("node", rate, 20.0)], cluster, seed) if rate else None
    result = simulate_batch(jobs, cluster, build_batch_policy(policy)[1], reclaims=reclaims)
    runs = result.runs
    lasted_s = runs["end_s"] - runs["start_s"]
    work_s = lasted_s - runs["restart_s"] - runs["checkpoint_s"] - runs["lost_s"]
    assert work_s.groupby(runs["job"]).sum().to_numpy() == pytest.approx(jobs["run_s"], abs=1e-6)
    _check_capacity(result, jobs["cpu_milli"] * jobs["parts"], 12_000)
    for _, own in runs.groupby("job"):
        own = own.sort_values("start_s", kind="stable")
        assert (own["start_s"].to_numpy()[1:] >= own["end_s"].to_numpy()[:-1]).all()
    if not rate and policy != "max_min:round_s=20":
        assert not runs["interrupted"].any()


def _check_capacity(result: BatchResult, asked: "object", whole: int) -> None:
    runs = result.runs
    used = np.asarray(asked)[runs["job"]]
    times = np.concatenate([runs["start_s"], runs["end_s"]])
    changes = np.concatenate([used, -used])
    order = np.lexsort((changes, times))
    assert np.cumsum(changes[order]).max(initial=0) <= whole


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


@pytest.mark.parametrize("text", ["", "1", "a:b", "0:1", "10:-1", "10:1:inf", "1:2:3:4", "nan:1"])
def test_a_wrong_checkpoint_is_an_error(text: str) -> None:
    with pytest.raises(UserError, match="INTERVAL:COST"):
        parse_checkpoint(text)


@pytest.mark.parametrize(
    "text", ["", "node", "node=0", "node=1:0", "x=1", "node=1,node=2", "node=nan"]
)
def test_a_wrong_spot_is_an_error(text: str) -> None:
    with pytest.raises(UserError, match="--spot"):
        parse_spot(text, nodes(1, 1))
