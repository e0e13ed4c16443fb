"""Other tuners on the surrogates, each as its documentation advises and with its own defaults.

Every function searches until the trainer's budget is spent. Imports lie inside: no environment
has all of them (requirements-peers.txt, requirements-bohb.txt).
"""

import logging
import random
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from surrogate_tasks import Configuration, Parameter, Task, Trainer

REDUCTION = 3  # of all that halve: every peer's own default


def random_search(trainer: Trainer, seed: int) -> None:
    """Every configuration at random, and trained to the end."""
    rng = random.Random(seed)
    while True:
        trainer.train(trainer.task.drawn(rng), trainer.task.levels)


def optuna_hyperband(trainer: Trainer, seed: int) -> None:
    """Optuna's TPESampler with its HyperbandPruner, which trains on while nothing is pruned.

    Where training cannot go on from a checkpoint, a step is a rung's level, from the beginning.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    levels = trainer.task.levels
    study = optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=seed),
        pruner=optuna.pruners.HyperbandPruner(1, levels, REDUCTION),
    )
    steps = list(range(1, levels + 1))
    if not trainer.task.family.resumes:
        steps = [levels // REDUCTION**halvings for halvings in range(3, -1, -1)]
    while True:
        trial = study.ask()
        configuration = {one.name: _optuna(trial, one) for one in trainer.task.parameters}
        for step in steps:
            score = trainer.train(configuration, step)
            trial.report(score, step)
            if step < levels and trial.should_prune():
                study.tell(trial, state=optuna.trial.TrialState.PRUNED)
                break
        else:
            study.tell(trial, score)


def smac_multi_fidelity(trainer: Trainer, seed: int) -> None:
    """SMAC's MultiFidelityFacade: random forest, Hyperband as the intensifier."""
    from smac import MultiFidelityFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue

    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            _config_space(trainer.task, seed),
            deterministic=True,
            n_trials=_trials(trainer),
            min_budget=1,
            max_budget=trainer.task.levels,
            seed=seed,
            output_directory=Path(folder),
        )
        facade = MultiFidelityFacade(
            scenario, lambda config, seed=0, budget=0: 0.0, overwrite=True, logging_level=False
        )
        facade.optimizer._runhistory_encoder  # noqa: B018  # made on first use
        while True:
            info = facade.ask()
            score = trainer.train(_named(trainer.task, dict(info.config)), info.budget)
            facade.tell(info, TrialValue(cost=-score), save=False)


def dehb(trainer: Trainer, seed: int) -> None:
    """DEHB by its ask and tell."""
    from dehb import DEHB
    from loguru import logger

    logger.remove()
    with tempfile.TemporaryDirectory() as folder:
        tuner = DEHB(
            cs=_config_space(trainer.task, seed),
            dimensions=len(trainer.task.parameters),
            min_fidelity=1,
            max_fidelity=trainer.task.levels,
            n_workers=1,
            seed=seed,
            output_path=folder,
            save_freq="end",
        )
        while True:
            job = tuner.ask()
            score = trainer.train(_named(trainer.task, dict(job["config"])), job["fidelity"])
            tuner.tell(job, {"fitness": -score, "cost": job["fidelity"]})


def ray_bohb(trainer: Trainer, seed: int) -> None:
    """Ray Tune's TuneBOHB and HyperBandForBOHB, driven as its controller does, with one worker.

    Its own loop takes seconds a trial, and stops nothing where trials are limited to one at a
    time: here, as there without that limit, a trial is added whenever none waits.
    """
    import numpy
    from ray.tune.experiment import Trial
    from ray.tune.schedulers.hb_bohb import HyperBandForBOHB
    from ray.tune.schedulers.trial_scheduler import TrialScheduler
    from ray.tune.search.bohb import TuneBOHB

    logging.disable(logging.INFO)
    numpy.random.seed(seed)
    keys = {"metric": "score", "mode": "max"}
    searcher = TuneBOHB(_config_space(trainer.task, seed), seed=seed, **keys)
    scheduler = HyperBandForBOHB("training_iteration", max_t=trainer.task.levels, **keys)
    trials: list[Any] = []
    controller = SimpleNamespace(
        search_alg=SimpleNamespace(searcher=searcher), get_trials=lambda: trials
    )

    def stop(trial: Any) -> None:
        trial.status = Trial.TERMINATED
        scheduler.on_trial_remove(controller, trial)
        searcher.on_trial_complete(trial.trial_id)

    controller.stop_trial = stop
    while True:
        trial = scheduler.choose_trial_to_run(controller)
        if trial is None:
            trial = _RayTrial(f"{len(trials)}", Trial.PENDING)
            trial.config = searcher.suggest(trial.trial_id)
            trials.append(trial)
            scheduler.on_trial_add(controller, trial)
            continue
        trial.status = Trial.RUNNING
        action = TrialScheduler.CONTINUE
        while action == TrialScheduler.CONTINUE:
            trial.level += 1
            score = trainer.train(_named(trainer.task, trial.config), trial.level)
            result = {"training_iteration": trial.level, "score": score}
            action = scheduler.on_trial_result(controller, trial, result)
            searcher.on_trial_result(trial.trial_id, result)
        if action == TrialScheduler.PAUSE:
            trial.status = Trial.PAUSED
        else:
            trial.status = Trial.TERMINATED
            scheduler.on_trial_complete(controller, trial, result)
            searcher.on_trial_complete(trial.trial_id, result)


class _RayTrial:
    """What a scheduler of Ray's looks at in a trial."""

    is_saving = False

    def __init__(self, trial_id: str, status: str) -> None:
        self.trial_id, self.status, self.level = trial_id, status, 0
        self.config: dict[str, Any] = {}


PEERS: dict[str, Callable[[Trainer, int], None]] = {
    "random": random_search,
    "optuna_tpe_hyperband": optuna_hyperband,
    "smac_multi_fidelity": smac_multi_fidelity,
    "dehb": dehb,
    "ray_bohb": ray_bohb,
}


def _trials(trainer: Trainer) -> int:
    """How many evaluations HyperBand makes of the budget, about."""
    from trimtab.tuning.hyperband import brackets_of

    brackets, levels = brackets_of(trainer.task.levels, REDUCTION), 0
    for bracket in brackets:
        before = 0
        for rung in bracket:
            levels += rung.trials * (rung.level - before)
            before = rung.level if trainer.task.family.resumes else 0
    evaluations = sum(rung.trials for bracket in brackets for rung in bracket)
    return round(evaluations * trainer.budget / levels)


def _optuna(trial: Any, one: Parameter) -> Any:
    if one.choices:
        return trial.suggest_categorical(one.name, one.choices)
    if one.whole:
        return trial.suggest_int(one.name, int(one.low), int(one.high), log=one.log)
    return trial.suggest_float(one.name, one.low, one.high, log=one.log)


def _config_space(task: Task, seed: int) -> Any:
    import ConfigSpace

    warnings.simplefilter("ignore")
    space = ConfigSpace.ConfigurationSpace(seed=seed)
    add = getattr(space, "add_hyperparameter", None) or space.add  # before and from 1.0 on
    for one in task.parameters:
        if one.choices:
            add(ConfigSpace.CategoricalHyperparameter(_plain(one.name), one.choices))
            continue
        kind = (
            ConfigSpace.UniformIntegerHyperparameter
            if one.whole
            else ConfigSpace.UniformFloatHyperparameter
        )
        low, high = (int(one.low), int(one.high)) if one.whole else (one.low, one.high)
        add(kind(_plain(one.name), lower=low, upper=high, log=one.log))
    return space


def _named(task: Task, given: dict[str, Any]) -> Configuration:
    return {
        one.name: str(given[_plain(one.name)]) if one.choices else given[_plain(one.name)]
        for one in task.parameters
    }


def _plain(name: str) -> str:
    return name.replace(".", "_")
