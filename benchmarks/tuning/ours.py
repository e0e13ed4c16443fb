"""The project's own engine on a surrogate: study, scheduler, journal; the training apart."""

import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from surrogate_tasks import Parameter, Trainer

from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.validate import checked
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.hyperband import Bracket, HyperBand, brackets_of, successive_halving
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import Study

SHARED_MEMORY = Path("/dev/shm")


def ours(settings: str = "") -> Callable[[Trainer, int], None]:
    """Return the search by a tuner's settings, such as `algorithm=random,halving=9`."""
    given = dict(one.split("=") for one in settings.split(",") if one)

    def search(trainer: Trainer, seed: int) -> None:
        reduction = int(given.get("reduction", 3))
        brackets = brackets_of(trainer.task.levels, reduction)
        if trials := int(given.get("halving", 0)):
            brackets = successive_halving(trainer.task.levels, reduction, trials)
        memory = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            space = SearchSpace(_tuning(trainer))
            algorithm = given.get("algorithm", "tpe")
            study = Study(Path(folder) / "journal", "trials", space, list(Kind), algorithm, seed)
            while True:
                _round(trainer, study, brackets, reduction, given.get("way") != "asynchronous")

    return search


def _round(
    trainer: Trainer, study: Study, brackets: list[Bracket], reduction: int, synchronous: bool
) -> None:
    """All brackets once."""
    scheduler = HyperBand(brackets, reduction, synchronous=synchronous)
    configurations: dict[int, dict[str, Any]] = {}
    while (job := scheduler.next_job()) is not None:
        trial = job.trial
        if trial is None:
            trial, configuration = study.ask()
            configurations[trial] = configuration
        scheduler.start(job, trial)
        level = brackets[job.bracket][job.rung].level
        named = {
            one.name: configurations[trial][f"training.{_plain(one.name)}"]
            for one in trainer.task.parameters
        }
        score = trainer.train(named, level)
        study.tell(trial, Budget(level), score)
        scheduler.report(trial, score)


def _tuning(trainer: Trainer) -> Tuning:
    keys = {_plain(one.name): _keys(one) for one in trainer.task.parameters}
    epochs = {"least": 1, "most": trainer.task.levels}
    return checked({"epochs": epochs, "training": keys}, Tuning)


def _keys(one: Parameter) -> dict[str, Any]:
    if one.choices:
        return {"choices": list(one.choices), "default": one.choices[0]}
    return {
        "low": one.low, "high": one.high, "log": one.log, "whole": one.whole, "default": one.low,
    }  # fmt: skip


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name)
