"""A trace of jobs of waves: formula, simulator and deflator have the waves' phases."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from trimtab.clusters.round_times import service_times
from trimtab.config import Configurations
from trimtab.config.groups.jobs.arrivals import ArrivalsConfig
from trimtab.config.groups.jobs.waves import WaveConfig
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import JobClassConfig, RoundsConfig
from trimtab.config.stages import TraceStage
from trimtab.queueing.phase_type import PhaseType
from trimtab.records.summary import Summary
from trimtab.scheduling.cell import simulate_cell
from trimtab.scheduling.deflate import deflate
from trimtab.scheduling.engine_model import engine_classes, is_exact, processing_time_of
from trimtab.scheduling.formula import calculate
from trimtab.scheduling.from_config import rounds_of
from trimtab.scheduling.measured import MeasuredClasses
from trimtab.scheduling.setting import Setting, setting_of
from trimtab.scheduling.trace.make_trace import make_trace

PROJECT = Path(__file__).resolve().parents[3]
# Either of two speeds, then two phases more: far from exponential.
MAP = WaveConfig([0.7, 0.3, 0.0], [[-1.0, 0.0, 1.0], [0.0, -0.2, 0.1], [0.0, 0.0, -2.0]])
REDUCE = WaveConfig([1.0, 0.0], [[-1.0, 1.0], [0.0, -1.0]])
ROUNDS = RoundsConfig(
    map_tasks=50, map_stages=2, reduce_tasks=20, set_up_s=1.0, shuffle_s=0.5,
    distribution="erlang", phases=2, map_wave=MAP, reduce_wave=REDUCE,
)  # fmt: skip
LOSS = [[0.0, 0.0], [0.5, 10.0]]


def wave_mean_s(wave: WaveConfig) -> float:
    return PhaseType(np.array(wave.start), np.array(wave.transitions)).mean


def wave_setting(folder: Path) -> Setting:
    given = Configurations(PROJECT / "conf", ["experiment=dias_two_priorities"])
    cluster = given.option("cluster", "dias_engine")
    trace = replace(
        given.root.trace,
        arrivals=ArrivalsConfig("poisson", 30_000, load=0.7),
        classes={
            "high": JobClassConfig(1, 1, rounds=ROUNDS, accuracy_loss=LOSS),
            "low": JobClassConfig(0, 3, rounds=replace(ROUNDS, map_tasks=90), accuracy_loss=LOSS),
        },
    )
    stage = TraceStage(cluster, given.options("hardware", cluster.nodes), trace)
    make_trace(stage, MeasuredClasses(), folder)
    return setting_of(stage, folder / "trace.parquet", folder / "trace.json")


@pytest.mark.parametrize(("drop", "waves"), [(0.0, 3 + 3), (0.2, 2 + 2), (0.5, 2 + 1)])
def test_formula_and_drawn_jobs_have_one_distribution(drop: float, waves: int) -> None:
    time = processing_time_of(ROUNDS, 20, drop, seed=1)
    mean_s = 1.5 + waves * wave_mean_s(MAP) + wave_mean_s(REDUCE)
    assert time.mean == pytest.approx(mean_s, rel=1e-12)
    jobs = 20_000
    columns = (np.full(jobs, count) for count in (50, 20, 20))
    drawn_s, _ = service_times(rounds_of(ROUNDS), 3, np.arange(jobs), *columns, drop)
    assert stats.kstest(drawn_s, time.cdf).pvalue > 1e-3


def test_only_phases_are_exact() -> None:
    assert is_exact(ROUNDS) and is_exact(replace(ROUNDS, distribution="exponential"))
    fixed = replace(ROUNDS, distribution="deterministic")
    assert not is_exact(fixed) and is_exact(replace(fixed, set_up_s=0.0, shuffle_s=0.0))
    assert not is_exact(replace(ROUNDS, size_scv=0.1))
    # The two moments of drawn jobs are near those of the phases.
    near, exact = (processing_time_of(one, 20, 0.0, seed=1) for one in (fixed, ROUNDS))
    assert near.mean == pytest.approx(exact.mean, rel=0.02)


@pytest.mark.parametrize(
    "policy",
    [
        PolicyConfig("np", "priority", parameters={"preemption": "none", "level": 0}),
        PolicyConfig("da", "dias", parameters={"drop_ratio": {"low": 0.2}}),
    ],
)
def test_the_simulator_agrees_with_the_formula(policy: PolicyConfig, tmp_path: Path) -> None:
    setting = wave_setting(tmp_path)
    formula = calculate(setting, policy)
    simulate_cell(setting, policy, replications=5, is_baseline=True, destination=tmp_path)
    summary = Summary.read(tmp_path / "summary.json")
    if policy.kind == "priority":
        assert summary.load == pytest.approx(0.7, rel=0.01)
    for name, by_formula in formula.classes.items():
        simulated = summary.classes[name]
        for key in ("response_mean_s", "response_p95_s", "execution_mean_s"):
            expected, half = getattr(by_formula, key), getattr(simulated, f"{key}_half_width_99")
            assert abs(getattr(simulated, key) - expected) < half, (name, key)
            assert half < 0.15 * expected


def test_the_deflator_drops_whole_waves(tmp_path: Path) -> None:
    setting = wave_setting(tmp_path)
    given = Configurations(PROJECT / "conf", ["experiment=dias_two_priorities"])
    objective = given.option("objective", "two_priorities")
    high, low = engine_classes(setting.stage, {})
    assert [one.processing_time(0.0).phases for one in (high, low)] == [2 + 18 + 2 + 2, 2 + 30 + 4]
    rows = deflate(setting, objective).rows
    response_s = {
        row.drop_ratio["low"]: row.response_mean_s["low"]
        for row in rows
        if row.timeout_s["high"] is None
    }
    # 90 tasks less 5, 10 and 15 % are 86, 81 and 77: the third leaves a wave less.
    first = [response_s[ratio] for ratio in (0.0, 0.05)]
    assert first[0] == pytest.approx(first[1], rel=1e-9)
    assert response_s[0.15] < 0.95 * first[0]
