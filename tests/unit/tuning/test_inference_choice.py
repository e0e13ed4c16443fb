"""The best of what was measured, by hand."""

import math

import pytest

from trimtab.config.fields import MistakeError
from trimtab.config.groups.scenario import ScenarioConfig
from trimtab.config.validate import checked
from trimtab.records.tuning.inference import MeasuredInference
from trimtab.tuning.batching import MultiStream, ServerScenario
from trimtab.tuning.inference.choice import Wanted, chosen, scenario_of


def one(size: int, batch_s: float, joules: float | None = 1.0, cores: int = 1) -> MeasuredInference:
    return MeasuredInference(
        {"batch_size": size, "cores": cores}, batch_s / size, joules, "modelled", [batch_s] * 3
    )


def test_time_energy_and_what_is_unknown() -> None:
    failed = MeasuredInference({"batch_size": 64, "cores": 1}, failure="out of memory")
    measured = [one(1, 0.1, 3.0), failed, one(8, 0.4, 5.0), one(8, 0.4, 9.0, cores=2)]
    best = chosen(measured, Wanted.TIME)
    assert best is not None and best.configuration == {"batch_size": 8, "cores": 1}
    assert best.metrics == {"inference_s": 0.05, "inference_j": 5.0}
    by_energy = chosen(measured, Wanted.ENERGY)
    assert by_energy is not None and by_energy.inference_j == 3.0
    assert chosen([failed], Wanted.TIME) is None
    unknown = chosen([one(1, 0.1, None)], Wanted.ENERGY)
    assert unknown is not None and math.isnan(unknown.inference_j)


def test_what_could_not_be_set_is_not_chosen() -> None:
    why = {"frequency_mhz": "no frequencies here"}

    def at(size: int, batch_s: float, mhz: float) -> MeasuredInference:
        asked = {"batch_size": size, "frequency_mhz": mhz}
        return MeasuredInference(asked, batch_s / size, 1.0, "modelled", [batch_s] * 3, 0, why)

    best = chosen([at(1, 0.1, 1000.0), at(8, 0.4, 2000.0)], Wanted.TIME)
    assert best is not None and best.configuration == {"batch_size": 8} and best.not_set == why
    # At one frequency, as none was set: so both sizes are known of the same settings, and a batch
    # of four is one of two sizes.
    both = [at(1, 0.1, 1000.0), at(4, 0.2, 2000.0), at(4, 0.9, 1000.0)]
    best = chosen(both, Wanted.TIME, ServerScenario(8, 1.0))
    assert best is not None and best.configuration == {"batch_size": 4}
    assert best.response_s == pytest.approx(0.3)
    saturated = chosen(both, Wanted.TIME, ServerScenario(8, 0.01))
    assert saturated is not None and saturated.saturated == (1, 4)


def test_a_server_splits_its_query_by_response_time() -> None:
    # 8 samples a second. In ones 0.1, 0.2 ... 0.8 s: 0.45 s in the mean; in fours 0.2 and 0.4 s:
    # 0.3 s; in one batch of eight 0.35 s. The eight have the least time a sample.
    measured = [one(1, 0.1), one(4, 0.2), one(8, 0.35)]
    best = chosen(measured, Wanted.TIME, ServerScenario(8, 1.0))
    assert best is not None and best.configuration["batch_size"] == 4
    assert best.response_s == pytest.approx(0.3) and best.saturated == ()
    assert best.metrics["response_s"] == best.response_s
    # Every 0.7 s, ones cannot keep up.
    faster = chosen(measured, Wanted.TIME, ServerScenario(8, 0.7))
    assert faster is not None and faster.saturated == (1,)
    # Every 0.3 s nothing can: the least time a sample, and it is said.
    hopeless = chosen(measured, Wanted.TIME, ServerScenario(8, 0.3))
    assert hopeless is not None and hopeless.configuration["batch_size"] == 8
    assert hopeless.response_s is None and hopeless.saturated == (1, 4, 8)
    assert hopeless.metrics["response_s"] == math.inf  # which is no score


def test_sizes_are_compared_with_those_of_the_same_cores() -> None:
    measured = [one(1, 0.5), one(4, 0.9), one(1, 0.1, cores=2), one(4, 0.3, cores=2)]
    best = chosen(measured, Wanted.TIME, MultiStream(3.0))
    assert best is not None and best.configuration["cores"] == 2 and best.response_s is not None
    assert best.response_s < 0.5


@pytest.mark.parametrize(
    "given", [{}, {"samples": 3}, {"period_s": 1.0}, {"samples_per_s": 1.0, "samples": 2}]
)
def test_a_scenario_is_one_of_both(given: dict[str, float]) -> None:
    with pytest.raises(MistakeError, match=r"samples: expected either `samples` with"):
        checked(given, ScenarioConfig)


def test_scenarios_of_yaml() -> None:
    assert scenario_of(None) is None
    assert scenario_of(ScenarioConfig(samples=5, period_s=2.0)) == ServerScenario(5, 2.0)
    assert scenario_of(ScenarioConfig(samples_per_s=4.0)) == MultiStream(4.0)
