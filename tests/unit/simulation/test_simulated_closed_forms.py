"""Simulated means against formulas of queueing theory, within the simulation's 99.9 % interval.

99.9 %: of the twenty or so comparisons all should hold; the seeds are fixed.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.policies.base import Policy
from trimtab.policies.dias import Dias
from trimtab.policies.fcfs import FirstComeFirstServed
from trimtab.policies.priority import Priority
from trimtab.scheduling.cell import half_width
from trimtab.simulation.result import Result
from trimtab.simulation.simulate import simulate

JOBS = 400_000
_BATCHES = 32
SERVER = NodeType("server", 1000, 1, 20.0, (Level(0.5, 30.0), Level(1.0, 80.0)))
CLASSES = ("low", "middle", "high")
Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


def exponential(mean_s: float) -> Draw:
    return lambda numbers, count: numbers.exponential(mean_s, count)


def erlang(mean_s: float, phases: int) -> Draw:
    return lambda numbers, count: numbers.gamma(phases, mean_s / phases, count)


def queue(
    policy: Policy, rates: list[float], services: list[Draw], seed: int, servers: int = 1
) -> Result:
    """A queue with Poisson arrivals of one class for each rate, the last the most important."""
    numbers = np.random.default_rng(seed)
    arrival_s = np.cumsum(numbers.exponential(1 / sum(rates), JOBS))
    priority = numbers.choice(len(rates), JOBS, p=np.array(rates) / sum(rates))
    work_s = np.choose(priority, [draw(numbers, JOBS) for draw in services])
    trace = pd.DataFrame(
        {
            "job": np.arange(JOBS),
            "arrival_s": arrival_s,
            "job_class": pd.Categorical.from_codes(priority, list(CLASSES)),
            "priority": priority,
            "cpu_milli": 1000,
            "gpu_milli": 0,
            "memory_bytes": 0,
            "work_s": work_s,
        }
    )
    classes = [JobClass(name) for name in CLASSES]
    return simulate(Cluster((SERVER,), (servers,)), classes, trace, policy, keep_allocations=False)


def assert_mean(result: Result, name: str, expected: float, column: str = "response_s") -> None:
    jobs = result.jobs
    assert jobs is not None
    jobs = jobs[jobs["job_class"] == name].sort_values("job")
    values = jobs["response_s"] - jobs["execution_s"] if column == "waiting_s" else jobs[column]
    # Means of batches are nearly independent, although neighbours in the series are not (Law,
    # Simulation Modeling and Analysis, section 9.5.3); a rest at the begin is left out.
    size = len(values) // _BATCHES
    means = values.to_numpy()[-size * _BATCHES :].reshape(_BATCHES, size).mean(axis=1)
    half = half_width(means, confidence=0.999)
    assert abs(means.mean() - expected) <= half
    assert half < 0.12 * expected  # else it says nothing


def test_mm1() -> None:
    result = queue(FirstComeFirstServed(), [0.7], [exponential(1.0)], 1)
    assert_mean(result, "low", 1 / (1 - 0.7))
    assert result.total.utilisation == pytest.approx(0.7, rel=0.02)


def test_mmc() -> None:
    # Erlang C for 3 servers at load 0.7: the share that waits is 0.4923.
    offered = 2.1
    blocked = offered**3 / 6 / (1 - 0.7)
    waits = blocked / (1 + offered + offered**2 / 2 + blocked)
    result = queue(FirstComeFirstServed(), [offered], [exponential(1.0)], 2, servers=3)
    assert_mean(result, "low", waits / (3 - offered), "waiting_s")


def test_pollaczek_khinchine() -> None:
    result = queue(FirstComeFirstServed(), [0.6], [erlang(1.0, 4)], 3)
    assert_mean(result, "low", 0.6 * (1 + 1 / 4) / (2 * (1 - 0.6)), "waiting_s")


def test_cobham() -> None:
    rates, means, phases = [0.2, 0.15, 0.4], [1.5, 1.0, 0.6], [1, 4, 2]
    services = [erlang(mean_s, k) for mean_s, k in zip(means, phases, strict=True)]
    result = queue(Priority("none"), rates, services, 4)
    squares = [m * m * (1 + 1 / k) for m, k in zip(means, phases, strict=True)]
    residual_s = sum(rate * square for rate, square in zip(rates, squares, strict=True)) / 2
    above = 0.0
    for number in (2, 1, 0):
        with_own = above + rates[number] * means[number]
        waiting_s = residual_s / (1 - above) / (1 - with_own)
        assert_mean(result, CLASSES[number], waiting_s, "waiting_s")
        above = with_own
    assert result.total.waste_share == 0


def test_mm1_preemptive_resume() -> None:
    result = queue(Priority("resume"), [0.4, 0.0, 0.3], [exponential(1.0)] * 3, 5)
    assert_mean(result, "high", 1 / (1 - 0.3))
    assert_mean(result, "low", 1 / (1 - 0.3) / (1 - 0.7))
    assert result.total.waste_share == 0
    assert result.classes["low"].evictions > 0


@pytest.mark.parametrize(
    ("service", "sojourn_s", "waste"),
    [(erlang(1.0, 10), 3.0552, 0.074), (exponential(1.0), 7.257, 0.143)],
)
def test_preemptive_repeat_is_gavers(service: Draw, sojourn_s: float, waste: float) -> None:
    result = queue(Priority("repeat"), [0.4, 0.0, 0.2], [service] * 3, 6)
    assert_mean(result, "low", sojourn_s)
    assert result.total.waste_share == pytest.approx(waste, rel=0.05)


def test_resampled_exponential_jobs_are_resumed_ones() -> None:
    # Without memory, a new time is as good as the rest of the old one.
    result = queue(Priority("resample"), [0.4, 0.0, 0.3], [exponential(1.0)] * 3, 5)
    assert_mean(result, "high", 1 / (1 - 0.3))
    assert_mean(result, "low", 1 / (1 - 0.3) / (1 - 0.7))
    assert result.total.waste_share > 0


def test_resampled_jobs_of_two_times_are_as_calculated() -> None:
    # Half the jobs take 0.1 s, half 2.9 s: a long job that is evicted may be a short one next.
    def work(numbers: np.random.Generator, count: int) -> NDArray[np.float64]:
        return numbers.choice([0.1, 2.9], count)

    result = queue(Priority("resample"), [0.3, 0.0, 0.4], [work, work, exponential(0.5)], 9)
    # Interrupted at rate a, an attempt ends with b = E[exp(-a S)]; a try takes (1 - b) / a.
    unbroken = (np.exp(-0.4 * 0.1) + np.exp(-0.4 * 2.9)) / 2
    last_s = (0.1 * np.exp(-0.4 * 0.1) + 2.9 * np.exp(-0.4 * 2.9)) / 2 / unbroken
    assert_mean(result, "low", last_s, "execution_s")
    busy_s = (1 - unbroken) / 0.4 / unbroken
    done_s = 0.3 * last_s + 0.4 * 0.5
    assert result.total.waste_share == pytest.approx(1 - done_s / (0.3 * busy_s + 0.2), rel=0.03)


@pytest.mark.filterwarnings("ignore:offered load 1 ")  # of jobs that never sprint
def test_a_sprint_without_budget_limit_is_another_service_time() -> None:
    # At half speed a job takes 2 S; after T = 1 s of it, the rest goes twice as fast.
    policy = Dias(timeout_s={"low": 1.0}, level=0, sprint_level=1)
    result = queue(policy, [0.5], [exponential(1.0)], 7)
    # E[min(2S, T)] + E[(2S - T)+] / 2 with 2S exponential of mean 2.
    rest_s = 2 * np.exp(-0.5)
    assert_mean(result, "low", 2 - rest_s + rest_s / 2, "execution_s")
    assert_mean(result, "low", rest_s / 2, "sprint_s")
    base_j, sprint_j = 30.0 * (2 - rest_s), 80.0 * rest_s / 2
    assert_mean(result, "low", base_j + sprint_j, "energy_j")


def test_the_budget_limits_the_share_of_time_that_is_sprinted() -> None:
    # Jobs want to sprint all the time (load 0.5); no more comes back than a tenth of it.
    policy = Dias(timeout_s={"low": 0.0}, budget_s=5.0, replenish_s_per_s=0.1)
    result = queue(policy, [0.3], [exponential(1.0)], 8)
    every = result.total
    assert every.sprint_s <= 5.0 + 0.1 * every.makespan_s
    assert every.sprint_s == pytest.approx(0.1 * every.makespan_s, rel=0.02)
