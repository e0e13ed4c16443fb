"""The formulas of a cell: which cover it, and that they get its rates and processing times."""

from dataclasses import replace
from pathlib import Path

import pytest

from trimtab.config import Configurations
from trimtab.config.groups.jobs.arrivals import ArrivalsConfig
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.stages import TraceStage
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.dias import Dias
from trimtab.policies.kubernetes import Kubernetes
from trimtab.policies.priority import Priority
from trimtab.queueing.services import Sprinted
from trimtab.records.summary import Summary
from trimtab.scheduling.cell import simulate_cell
from trimtab.scheduling.deflator import EngineClass
from trimtab.scheduling.engine_model import engine_arrivals, engine_classes, engine_power
from trimtab.scheduling.formula import calculate, response_by_formula
from trimtab.scheduling.measured import MeasuredClasses
from trimtab.scheduling.setting import setting_of
from trimtab.scheduling.trace.make_trace import make_trace

PROJECT = Path(__file__).resolve().parents[3]
EXPONENTIAL = [
    "trace=dias_two_priorities",
    *(
        f"trace.classes.{name}.rounds.{key}"
        for name in ("high", "low")
        for key in ("distribution=exponential", "size_scv=0")
    ),
]


def configurations(*overrides: str) -> Configurations:
    return Configurations(PROJECT / "conf", ["experiment=dias_two_priorities", *overrides])


def classes_of(given: Configurations) -> list[EngineClass]:
    cluster = given.option("cluster", "dias_engine")
    hardware = given.options("hardware", cluster.nodes)
    return engine_classes(TraceStage(cluster, hardware, given.root.trace), {})


def cobham(high: EngineClass, low: EngineClass, services: list[Sprinted]) -> list[float]:
    rates = [high.rate_per_s, low.rate_per_s]
    residual = sum(
        rate * service.moment(2) / 2 for rate, service in zip(rates, services, strict=True)
    )
    loads = [rate * service.mean for rate, service in zip(rates, services, strict=True)]
    waits = [residual / (1 - loads[0]), residual / ((1 - loads[0]) * (1 - sum(loads)))]
    return [wait + service.mean for wait, service in zip(waits, services, strict=True)]


def test_exponential_tasks_have_the_mean_of_equation_4_1() -> None:
    high, low = classes_of(configurations(*EXPONENTIAL))
    # 50 tasks on 20 slots: 31 ends at the rate of all slots, then 20, 19, ... 1 tasks are left.
    harmonic = sum(1 / n for n in range(1, 21))
    expected = 1.0 + 5.2 * (30 / 20 + harmonic) + 0.7 + 1.7 * harmonic
    assert low.processing_time(0).mean == pytest.approx(expected)
    dropped = (
        1.0
        + 5.2 * (20 / 20 + harmonic)
        + 0.7
        + 1.7 * (harmonic - sum(1 / n for n in range(17, 21)))
    )
    assert low.processing_time(0.2).mean == pytest.approx(dropped)
    load = sum(one.rate_per_s * one.processing_time(0).mean for one in (high, low))
    assert load == pytest.approx(0.8, rel=0.01)  # the rates are of 20,000 drawn jobs
    assert low.rate_per_s == pytest.approx(9 * high.rate_per_s)


def test_sizes_spread_the_drawn_processing_times_of_other_distributions() -> None:
    sizes = [f"trace.classes.{name}.rounds.size_scv" for name in ("high", "low")]
    narrow, wide = (
        classes_of(configurations("trace=dias_two_priorities", *(f"{key}={scv}" for key in sizes)))
        for scv in (0.1, 0.4)
    )
    first, second = narrow[1].processing_time(0.0), wide[1].processing_time(0.0)
    assert first.mean == pytest.approx(second.mean)
    assert (1 + first.scv) / 1.1 == pytest.approx((1 + second.scv) / 1.4, rel=1e-3)


@pytest.mark.parametrize("after_s", [0.0, 3.0, 12.0])
def test_a_sprint_timeout_changes_the_service_time_and_nothing_else(after_s: float) -> None:
    given = configurations("trace=dias_two_priorities")
    high, low = classes_of(given)
    cluster = given.option("cluster", "dias_engine")
    power = engine_power(cluster, [given.option("hardware", "dias_server")])
    assert power.speed_up == pytest.approx(2.5)
    policy = Dias(timeout_s={"high": after_s, "low": after_s})
    found = response_by_formula([high, low], power, policy, PolicyConfig("sprint", "dias"))
    services = [Sprinted(one.processing_time(0.0), after_s, 2.5) for one in (high, low)]
    means = [found[name].response_mean_s for name in ("high", "low")]
    assert means == pytest.approx(cobham(high, low, services), rel=1e-9)


def test_waste_is_that_of_preemptive_repeat_alone() -> None:
    given = configurations("trace=dias_two_priorities")
    classes = classes_of(given)
    power = engine_power(
        given.option("cluster", "dias_engine"), [given.option("hardware", "dias_server")]
    )
    repeat, none = (
        response_by_formula(
            classes, power, Priority(preemption), PolicyConfig(preemption, "priority")
        )
        for preemption in ("repeat", "none")
    )
    assert 0.03 < repeat["low"].waste_share < 0.06  # published: roughly 4 %
    assert none["low"].waste_share == 0
    assert repeat["high"].response_mean_s < none["high"].response_mean_s


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (Kubernetes(1, [1]), "policy given: no formula for the kind k"),
        (Dias(budget_s=10.0), "policy given: no formula for a sprint budget"),
    ],
)
def test_what_no_formula_covers_is_said(policy: Policy, expected: str) -> None:
    given = configurations("trace=dias_two_priorities")
    power = engine_power(
        given.option("cluster", "dias_engine"), [given.option("hardware", "dias_server")]
    )
    with pytest.raises(UserError, match=expected):
        response_by_formula(classes_of(given), power, policy, PolicyConfig("given", "k"))


def test_a_cluster_that_jobs_share_has_no_formula() -> None:
    given = Configurations(PROJECT / "conf", ["experiment=heats", "trace=heats_bursts"])
    cluster = given.option("cluster", "heats_testbed")
    hardware = given.options("hardware", cluster.nodes)
    with pytest.raises(UserError, match="formulas need an engine"):
        engine_classes(TraceStage(cluster, hardware, given.root.trace), {})


def with_arrivals(arrivals: ArrivalsConfig) -> tuple[TraceStage, list[EngineClass]]:
    given = configurations(*EXPONENTIAL)
    cluster = given.option("cluster", "dias_engine")
    trace = replace(given.root.trace, arrivals=arrivals)
    stage = TraceStage(cluster, given.options("hardware", cluster.nodes), trace)
    return stage, engine_classes(stage, {})


@pytest.mark.parametrize("preemption", ["none", "resume"])
def test_one_phase_of_modulated_arrivals_is_poisson(preemption: str) -> None:
    rates = {"high": [0.004], "low": [0.012]}
    bursts = ArrivalsConfig("modulated", 9, switching=[[0.0]], phase_rates=rates)
    stage, classes = with_arrivals(bursts)
    assert [one.rate_per_s for one in classes] == pytest.approx([0.004, 0.012])
    power = engine_power(stage.cluster, stage.hardware)
    policy, config = Priority(preemption), PolicyConfig("p", "priority")
    arrivals = engine_arrivals(stage, {})
    assert arrivals is not None
    marked = response_by_formula(classes, power, policy, config, arrivals)
    poisson = response_by_formula(classes, power, policy, config)
    for name in ("high", "low"):
        for figure in ("response_mean_s", "response_p95_s", "waiting_mean_s", "execution_mean_s"):
            expected = getattr(poisson[name], figure)
            assert getattr(marked[name], figure) == pytest.approx(expected, rel=1e-6)


def test_bursts_make_all_wait_longer_at_the_same_rates() -> None:
    switching, even = [[-0.001, 0.001], [0.003, -0.003]], {"high": [0.004] * 2, "low": [0.012] * 2}
    uneven = {"high": [0.002, 0.01], "low": [0.006, 0.03]}  # the same by 3 to 1
    responses = []
    for rates in (even, uneven):
        arrivals = ArrivalsConfig("modulated", 9, switching=switching, phase_rates=rates)
        stage, classes = with_arrivals(arrivals)
        assert [one.rate_per_s for one in classes] == pytest.approx([0.004, 0.012])
        found = response_by_formula(
            classes,
            engine_power(stage.cluster, stage.hardware),
            Priority("none"),
            PolicyConfig("p", "priority"),
            engine_arrivals(stage, {}),
        )
        responses.append([found[name].response_mean_s for name in ("high", "low")])
    assert responses[1][0] > responses[0][0] and responses[1][1] > 1.5 * responses[0][1]


@pytest.mark.parametrize("preemption", ["repeat", "resample"])
def test_no_formula_repeats_jobs_of_marked_arrivals(preemption: str) -> None:
    rates = {"high": [0.004], "low": [0.012]}
    stage, classes = with_arrivals(
        ArrivalsConfig("modulated", 9, switching=[[0.0]], phase_rates=rates)
    )
    power = engine_power(stage.cluster, stage.hardware)
    with pytest.raises(UserError, match=f"no formula for preemptive-{preemption} of marked"):
        response_by_formula(
            classes,
            power,
            Priority(preemption),
            PolicyConfig("p", "priority"),
            engine_arrivals(stage, {}),
        )


def test_a_cell_of_bursty_arrivals_is_simulated_as_calculated(tmp_path: Path) -> None:
    switching = [[-0.004, 0.004], [0.012, -0.012]]
    rates = {"high": [0.002, 0.014], "low": [0.01, 0.03]}
    stage, _ = with_arrivals(
        ArrivalsConfig("modulated", 60_000, load=0.6, switching=switching, phase_rates=rates)
    )
    make_trace(stage, MeasuredClasses(), tmp_path)
    setting = setting_of(stage, tmp_path / "trace.parquet", tmp_path / "trace.json")
    policy = PolicyConfig("np", "priority", parameters={"preemption": "none", "level": 0})
    formula = calculate(setting, policy)
    assert formula.model == "phase-type processing times, marked Markovian arrivals"
    simulate_cell(setting, policy, replications=4, is_baseline=True, destination=tmp_path)
    summary = Summary.read(tmp_path / "summary.json")
    assert summary.load == pytest.approx(0.6, rel=0.01)
    for name, by_formula in formula.classes.items():
        simulated = summary.classes[name]
        half = simulated.response_mean_s_half_width_99
        assert abs(simulated.response_mean_s - by_formula.response_mean_s) < half
        assert half < 0.12 * by_formula.response_mean_s
