"""Preemption by tiers: beside a plain simulator, by invariants, and cases by hand."""

import numpy as np
import pandas as pd
import plain_preemption
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_preemption import Job
from small_queues import jobs_of, nodes

from trimtab.batch.interruptions.preemption import Preemption, parse_preempt
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import BatchResult, simulate_batch
from trimtab.errors import UserError

BY_PRIORITY = Preemption(None)
POLICIES = ["fcfs", "any_fit", "easy", "conservative"]


def run(jobs: pd.DataFrame, cores: int, policy: str, preemption: Preemption | None) -> BatchResult:
    return simulate_batch(
        jobs, nodes(1, cores), build_batch_policy(policy)[1], preemption=preemption
    )


def table(jobs: list[Job]) -> pd.DataFrame:
    return jobs_of(
        [
            {"submit_s": each.submit_s, "run_s": each.run_s, "cpu_milli": 1000 * each.cores,
             "priority": each.tier, "estimate_s": each.estimate_s}
            for each in jobs
        ]
    )  # fmt: skip


@st.composite
def queues(draw: st.DrawFn) -> list[Job]:
    jobs, now_s = [], 0.0
    for _ in range(draw(st.integers(1, 14))):
        now_s += draw(st.sampled_from([0, 1, 7, 40]))
        run_s, over_s = (
            float(draw(st.integers(0, 100))),
            draw(st.sampled_from([0.0, 0.0, 9.0, 60.0])),
        )
        cores, tier = draw(st.integers(1, 6)), draw(st.integers(-1, 2))
        jobs.append(Job(now_s, float(run_s), cores, tier, max(1.0, run_s + over_s)))
    return jobs


@pytest.mark.parametrize("policy", plain_preemption.DISCIPLINES)
@settings(max_examples=150, deadline=None)
@given(jobs=queues())
def test_runs_are_those_of_the_plain_simulator(policy: str, jobs: list[Job]) -> None:
    result = run(table(jobs), 6, policy, BY_PRIORITY)
    interrupted, last = plain_preemption.simulate(jobs, 6, policy)
    found = list(result.runs[["job", "start_s", "end_s"]].itertuples(index=False, name=None))
    count = result.interruptions.preemptions
    assert sorted(found[:count]) == sorted(map(tuple, interrupted))
    assert found[count:] == list(map(tuple, last))
    lost_s = sum((each.end_s - each.start_s) * jobs[each.job].cores for each in interrupted)
    assert result.interruptions.lost_core_h == pytest.approx(lost_s / 3600)


@settings(max_examples=50, deadline=None)
@given(jobs=queues())
def test_the_highest_tier_does_not_see_the_others(jobs: list[Job]) -> None:
    highest = [each for each in jobs if each.tier == 2]
    if highest:
        alone = run(table(highest), 6, "fcfs", None).schedule["start_s"]
        among = run(table(jobs), 6, "fcfs", BY_PRIORITY).schedule["start_s"]
        own = [each.tier == 2 for each in jobs]
        assert among[own].tolist() == alone.tolist()


@pytest.mark.parametrize("policy", [*POLICIES, "multifactor"])
@settings(max_examples=25, deadline=None)
@given(jobs=queues())
def test_equal_tiers_change_nothing(policy: str, jobs: list[Job]) -> None:
    equal = table([each._replace(tier=3) for each in jobs])
    without = run(equal, 6, policy, None)
    with_tiers = run(equal, 6, policy, BY_PRIORITY)
    pd.testing.assert_frame_equal(without.schedule, with_tiers.schedule)


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=40, deadline=None)
@given(jobs=queues(), cost_s=st.sampled_from([None, 0.0, 3.0]))
def test_only_a_waiting_job_of_a_higher_tier_interrupts(
    policy: str, jobs: list[Job], cost_s: float | None
) -> None:
    rows = table(jobs)
    if cost_s is not None:
        rows["checkpoint_cost_s"] = cost_s
    result = run(rows, 6, policy, BY_PRIORITY)
    runs = result.runs
    lasted_s = runs["end_s"] - runs["start_s"]
    work_s = lasted_s - runs["restart_s"] - runs["checkpoint_s"] - runs["lost_s"]
    assert work_s.groupby(runs["job"]).sum().to_numpy() == pytest.approx(rows["run_s"], abs=1e-6)
    if cost_s is not None:
        assert result.interruptions.lost_core_h == 0
    tiers = rows["priority"].to_numpy()
    last = runs[runs["interrupted_by"] == ""].set_index("job")
    for each in runs[runs["interrupted_by"] != ""].itertuples():
        assert each.interrupted_by == "priority"
        begun_s = each.end_s - (cost_s or 0.0)
        waits = (rows["submit_s"] <= begun_s) & (last["start_s"] >= begun_s)
        assert (waits & (tiers > tiers[each.job])).any()


def test_queues_that_are_not_named_are_never_interrupted() -> None:
    """The wide job waits for the one of no named queue."""
    rows = jobs_of(
        [{"queue": "other", "run_s": 100.0}, {"queue": "low", "run_s": 100.0},
         {"queue": "high", "submit_s": 10.0},
         {"queue": "high", "submit_s": 20.0, "cpu_milli": 2000}]
    )  # fmt: skip
    result = run(rows, 2, "easy", parse_preempt("high=2,low=1", rows))
    assert result.schedule["start_s"].tolist() == [0.0, 0.0, 10.0, 100.0]
    assert result.schedule["interruptions"].tolist() == [0, 1, 0, 0]
    last = result.runs[result.runs["interrupted_by"] == ""]
    assert last["start_s"].tolist() == [0.0, 110.0, 10.0, 100.0]


def test_a_job_that_is_not_needed_is_spared() -> None:
    """The last that started goes first, but its core is of no use beside the wide one's."""
    rows = jobs_of(
        [{"run_s": 100.0, "cpu_milli": 4000}, {"run_s": 100.0, "submit_s": 1.0},
         {"priority": 1, "submit_s": 2.0, "cpu_milli": 4000}]
    )  # fmt: skip
    result = run(rows, 5, "fcfs", BY_PRIORITY)
    assert result.schedule["interruptions"].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    "text", ["", "low", "low=0", "low=x", "low=-1", "none=1", "low=1,low=2", "low=99999999999999"]
)
def test_a_wrong_preempt_is_an_error(text: str) -> None:
    with pytest.raises(UserError, match="--preempt"):
        parse_preempt(text, jobs_of([{"queue": "low"}]))


def test_policies_of_rounds_take_no_tiers() -> None:
    with pytest.raises(UserError, match="chooses the jobs that run"):
        run(jobs_of([{}]), 1, "max_min", BY_PRIORITY)


def test_gpus_that_are_lost_are_counted() -> None:
    rows = jobs_of([{"run_s": 100.0, "gpu_milli": 2000},
                    {"priority": 1, "submit_s": 36.0, "gpu_milli": 1000}])  # fmt: skip
    cluster = nodes(1, 4, gpus=2)
    result = simulate_batch(rows, cluster, build_batch_policy("easy")[1], preemption=BY_PRIORITY)
    assert result.interruptions.lost_gpu_h == pytest.approx(2 * 36 / 3600)
    assert result.interruptions.lost_core_h == pytest.approx(36 / 3600)
    assert np.isclose(result.schedule["end_s"], [146.0, 46.0]).all()
