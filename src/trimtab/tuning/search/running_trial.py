"""A trial of a search on a rung: its job, its cost and its result."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trimtab.profiling.meters.base import EnergySource
from trimtab.profiling.meters.machine import MeterReadings
from trimtab.tuning.plan import Plan, RungResult
from trimtab.tuning.scoring.score import Failure, Metrics, metric_of
from trimtab.tuning.sharing.trial_queue import TrialLease
from trimtab.tuning.system.spending import SharedMeters, Spent, Taken
from trimtab.tuning.system.system_tuner import Settings, SystemTuner
from trimtab.tuning.trials.events import EndReason, EpochEnd, TrialEnded
from trimtab.tuning.trials.process import TrialProcess


@dataclass(eq=False)
class RunningTrial(TrialLease):
    """A trial with a process, on this rung since `began_s` of the search.

    `taken` is the cost of all its processes on the rung, `before` the cost of earlier ones. It has
    a `result` once it is judged, perhaps while its program still ends.
    """

    steering: SystemTuner
    process: TrialProcess
    settings: Settings
    cpus: tuple[int, ...]
    spent: Spent
    began_s: float
    before: Taken
    began_meters: MeterReadings
    meters: MeterReadings  # at its epoch's start
    metrics: dict[str, float]
    not_set: Mapping[str, str]  # in effect in none of its epochs, and why
    taken: Taken = field(default_factory=Taken)
    epochs: int = 0  # of this process
    by_epoch: list[dict[str, Any]] = field(default_factory=list)  # of this process
    starts_again: bool = False  # with new settings, once its program has ended
    has_ended: bool = False
    result: RungResult | None = None
    _epochs_s: float = 0.0
    _core_s: float = 0.0  # its seconds times its CPUs
    _epochs_j: float = 0.0

    @property
    def rung_j(self) -> float:
        """The joules of its epochs on this rung so far."""
        return self.before.energy_j + self._epochs_j

    def epoch_ended(self, epoch: EpochEnd, meters: SharedMeters, now: MeterReadings) -> float:
        """Count an epoch, saved beside the checkpoint; return its joules."""
        cores = len(self.cpus)
        energy_j = meters.energy_j(
            self.meters, now, wall_s=epoch.wall_s, cpu_s=epoch.cpu_s, cores=cores
        )
        self.meters, self.metrics = now, dict(epoch.metrics)
        self.spent = self.spent.and_also(epoch.wall_s, energy_j, epoch.metrics)
        self.spent.write(self.process.folder)
        self.not_set = {name: why for name, why in self.not_set.items() if name in epoch.not_set}
        self.epochs += 1
        self._epochs_s += epoch.wall_s
        self._epochs_j += energy_j
        self._core_s += epoch.wall_s * cores
        return energy_j

    def has_taken(self, ended: TrialEnded, meters: SharedMeters, now: MeterReadings) -> None:
        """Count the cost of the process until `ended`, unfinished epochs included."""
        cores = self._core_s / self._epochs_s if self._epochs_s else len(self.cpus)
        energy_j = meters.energy_j(
            self.began_meters, now, wall_s=ended.wall_s, cpu_s=ended.cpu_s, cores=cores
        )
        work_epochs = self.epochs * self.budget.data_fraction
        self.taken = self.before.and_also(Taken(ended.wall_s, ended.cpu_s, energy_j, work_epochs))


def why_failed(one: RunningTrial, ended: TrialEnded) -> str:
    """Return why a trained trial has no score; empty where it can be judged.

    A program that stopped early and ended well can be judged.
    """
    if ended.reason.is_failure or ended.reason == EndReason.KILLED:
        return ended.failure
    if not one.metrics:
        return (
            "the program reported no epoch: expected trimtab_trial.epoch_end(epoch, accuracy=...)"
            " after each epoch, or lines that marks.epoch (--epoch-mark) finds, with a named group"
            " for a metric, as --epoch-mark 'accuracy (?P<accuracy>\\S+)'"
        )
    return ""


def result_of(
    plan: Plan,
    one: RunningTrial,
    ended: TrialEnded,
    beside: Metrics,
    energy_source: EnergySource,
    ended_s: float,
    best: Settings,
    inference_tuning: tuple[float, float] | None,
) -> RungResult:
    """Return the result of a trial, with the side task's metrics `beside`.

    Raises UserError where a metric of the score is missing.
    """
    training_j = math.nan if energy_source is EnergySource.UNKNOWN else one.spent.training_j
    measured = {"training_s": one.spent.training_s, "training_j": training_j}
    measured["peak_rss_bytes"] = ended.peak_rss_bytes or math.nan
    metrics = {**one.metrics, **measured}
    result: float | Failure
    others: list[float | Failure] = []
    if failure := why_failed(one, ended):
        result = Failure(failure)
    elif isinstance(beside, Failure):
        result = beside
    else:
        metrics["accuracy"] = metric_of(one.metrics, plan.tuning.metric)
        metrics |= beside
        result, *others = (score.of(metrics) for score in (plan.score, *plan.others))
        result = next((score for score in others if isinstance(score, Failure)), result)
    return RungResult(
        trial=one.trial,
        job=one.job,
        budget=one.budget,
        configuration=one.configuration,
        result=result,
        others=[score for score in others if not isinstance(score, Failure)],
        metrics=metrics,
        epochs_trained=one.process.first_epoch + one.epochs,
        training_s=one.spent.training_s,
        training_j=training_j,
        energy_source=energy_source,
        start_up_s=ended.start_up_s,
        began_s=one.began_s,
        ended_s=ended_s,
        settings={name: best[name] for name in best if name not in one.not_set},
        not_set={name: why for name, why in one.not_set.items() if name in best},
        steering=one.steering.report,
        by_epoch=one.by_epoch,
        inference_tuning=inference_tuning,
        **vars(one.taken),
    )
