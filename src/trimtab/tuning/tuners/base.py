"""The definition of a tuner: the rungs of a search, its suggestions, and its system tuner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trimtab.config.groups.objective import Least
from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.tuning.fidelity import BudgetKind, Fidelity
from trimtab.tuning.hyperband import Bracket, with_trials
from trimtab.tuning.inference.plan import InferencePlan
from trimtab.tuning.space import Configuration
from trimtab.tuning.system.system_tuner import FixedSettings, SystemTunerFactory


@dataclass(frozen=True)
class TunerInputs:
    """The input of a tuner.

    It has the workload's `tuning`, the numbers of CPUs and GPUs that a trial may have, and the key
    of the machine (system.machine). It also has the quantity to minimise, and the file of the
    ground truth, which grows. `known_before` is that file before the search began.
    """

    tuning: Tuning
    cpus: int
    machine: str
    least: Least
    ground_truth: Path
    known_before: Path | None = None
    gpus: int = 0


@dataclass(frozen=True)
class Tuner:
    """How one search goes.

    `searched` are the kinds of parameters that `algorithm` suggests; others keep their defaults.
    `inference` is the plan for tuning inference beside training. A tuner without it replaces an
    objective of inference by `score_without_inference`, if it has one. `first` is another search,
    by accuracy; its best configuration gives the defaults of this one.
    """

    searched: Sequence[Kind]
    algorithm: str
    fidelity: Fidelity
    brackets: Sequence[Bracket]
    reduction: int
    synchronous: bool
    steerer: SystemTunerFactory
    inference: InferencePlan | None = None
    score_without_inference: str | None = None
    first: "Tuner | None" = None

    def with_trials(self, trials: int) -> "Tuner":
        """Return the tuner with `trials` configurations in each of its searches."""
        brackets = with_trials(self.brackets, self.reduction, trials)
        first = None if self.first is None else self.first.with_trials(trials)
        return replace(self, brackets=brackets, first=first)


def fidelity_of(tuning: Tuning, kind: BudgetKind) -> Fidelity:
    """Return the budgets of the levels of a kind, by a workload's `tuning`."""
    least = tuning.data_fraction.least if tuning.data_fraction is not None else 1.0
    return Fidelity(kind, tuning.epochs.least, tuning.epochs.most, least)


def system_of(complete: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `system` parameters of a configuration, by their own names."""
    prefix = f"{Kind.SYSTEM}."
    return {
        name.removeprefix(prefix): value
        for name, value in complete.items()
        if name.startswith(prefix)
    }


def as_configured(complete: Configuration) -> FixedSettings:
    """Return a trial's configured settings, equal in all epochs."""
    return FixedSettings(system_of(complete))
