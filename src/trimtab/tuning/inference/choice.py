"""The best of the measured inference configurations.

Thesis, section 7.3.4: the least time or energy per sample. With a scenario of arrivals, the
shortest mean response time among the batch sizes that keep up.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from trimtab.config.groups.scenario import ScenarioConfig
from trimtab.queueing.errors import UnstableQueueError
from trimtab.records.tuning.inference import Emulated, MeasuredInference
from trimtab.tuning.batching import MultiStream, Scenario, ServerScenario, ServiceTimes, best_batch

Wanted = StrEnum("Wanted", {"TIME": "inference_s", "ENERGY": "inference_j"})
BATCH_SIZE = "batch_size"
Setting = int | float


@dataclass(frozen=True)
class Chosen:
    """The best configuration and its cost; `inference_j` is NaN where it is unknown.

    Settings that could not be made are not in the configuration; `not_set` says why.

    `response_s` is the scenario's mean response time; it is None without a scenario and where all
    batch sizes are saturated. `saturated` are the batch sizes that cannot keep up under the chosen
    settings.
    """

    configuration: Mapping[str, Setting]
    inference_s: float
    inference_j: float
    energy_source: str
    response_s: float | None = None
    saturated: tuple[int, ...] = ()
    not_set: Mapping[str, str] = field(default_factory=dict)
    emulated: Emulated | None = None

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The interval of `inference_s` on an emulated device."""
        of = self.emulated
        if of is None:
            return None
        return (
            self.inference_s * of.slower_low / of.slower,
            self.inference_s * of.slower_high / of.slower,
        )

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics that judge a training trial, by their names in an objective's score."""
        found = {"inference_s": self.inference_s, "inference_j": self.inference_j}
        if self.interval_s is not None:
            found["inference_s_low"], found["inference_s_high"] = self.interval_s
        if self.response_s is None and self.saturated:
            return {**found, "response_s": math.inf}
        return found if self.response_s is None else {**found, "response_s": self.response_s}


def scenario_of(config: ScenarioConfig | None) -> Scenario | None:
    """Return the scenario that a workload's YAML describes."""
    if config is None:
        return None
    if config.samples_per_s is not None:
        return MultiStream(config.samples_per_s)
    assert config.samples is not None and config.period_s is not None
    return ServerScenario(config.samples, config.period_s)


def chosen(
    measured: Sequence[MeasuredInference], wanted: Wanted, scenario: Scenario | None = None
) -> Chosen | None:
    """Return the best measurement without a failure, or None.

    With a scenario, it has the shortest response time; where none keeps up, the least time per
    sample. The earlier of equal ones wins.
    """
    good = [one for one in measured if not one.failure]
    if not good:
        return None
    if scenario is None:
        return _as_chosen(min(good, key=lambda one: cost(one, wanted)))
    found, groups = [], _by_settings(good)
    for alike in groups:
        times = ServiceTimes({size: one.batch_s for size, one in alike.items()})
        try:
            best = best_batch(scenario, times, alike)
        except UnstableQueueError:
            continue
        found.append(_as_chosen(alike[best.size], best.response_s, best.saturated))
    if found:
        return min(found, key=lambda one: one.response_s or 0.0)
    # The closest to keeping up.
    fastest, alike = min(
        ((one, alike) for alike in groups for one in alike.values()),
        key=lambda pair: pair[0].inference_s,
    )
    return _as_chosen(fastest, None, tuple(sorted(alike)))


def cost(measured: MeasuredInference, wanted: Wanted) -> float:
    """Return the cost to minimise: infinite where the energy is unknown."""
    value = measured.inference_s if wanted == Wanted.TIME else measured.inference_j
    return math.inf if value is None else value


def _by_settings(measured: Sequence[MeasuredInference]) -> list[dict[int, MeasuredInference]]:
    """Return measurements by batch size, one group for each set of other settings.

    Settings that were not in effect do not tell configurations apart; the first of equal ones
    counts.
    """
    groups: dict[tuple[tuple[str, Setting], ...], dict[int, MeasuredInference]] = {}
    for one in measured:
        beside = tuple(
            (name, value) for name, value in sorted(_in_effect(one).items()) if name != BATCH_SIZE
        )
        groups.setdefault(beside, {}).setdefault(int(one.configuration[BATCH_SIZE]), one)
    return list(groups.values())


def _in_effect(one: MeasuredInference) -> dict[str, Setting]:
    return {name: value for name, value in one.configuration.items() if name not in one.not_set}


def _as_chosen(
    one: MeasuredInference, response_s: float | None = None, saturated: tuple[int, ...] = ()
) -> Chosen:
    return Chosen(
        _in_effect(one),
        one.inference_s,
        math.nan if one.inference_j is None else one.inference_j,
        one.energy_source,
        response_s,
        saturated,
        {name: why for name, why in one.not_set.items() if name in one.configuration},
        one.emulated,
    )
