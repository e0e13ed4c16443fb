"""The longest duration of the stage `tune`, for batch systems that ask beforehand."""

from pathlib import Path

from trimtab.config.stages import TuneStage
from trimtab.errors import UserError
from trimtab.tuning.tuners.base import Tuner, TunerInputs
from trimtab.tuning.tuners.registry import build_tuner


def longest_s(stage: TuneStage) -> float:
    """Return the seconds of a search whose trials all reach their time limits, one by one.

    Inference is measured beside the trials and does not count. Knowledge of other searches and
    parameters without impact are not considered. Raises UserError for a workload that cannot be
    tuned, and for an unknown tuner.
    """
    if stage.workload.tuning is None:
        raise UserError(f"workload {stage.workload.name}: tuning: expected what is to be tuned")
    facts = TunerInputs(
        tuning=stage.workload.tuning,
        cpus=stage.hardware.cores,
        machine=stage.hardware.name,
        least=stage.objective.least,
        ground_truth=Path("not known yet"),
        gpus=stage.hardware.gpu_count,
    )
    try:
        made = build_tuner(stage.tuner.kind, stage.tuner.parameters, facts)
    except ValueError as error:
        raise UserError(f"tuner {stage.tuner.name}: parameters: {error}") from None
    return stage.seeds * _runs_of(made) * stage.workload.timeout_s


def longest_alone_s(told: Path) -> float:
    """Return the seconds of `measure_alone` if all measurements reach their time limits.

    0 without the table `told`. Raises as reading it does.
    """
    # What measures takes long to import: only for those who do.
    from trimtab.tuning.inference.alone import ROUNDS, configurations
    from trimtab.tuning.inference.serving import TIMEOUT_S

    return ROUNDS * len(configurations(told)) * TIMEOUT_S


def _runs_of(made: Tuner) -> int:
    """The number of trials on all rungs, in both searches of a tuner with two."""
    of_first = _runs_of(made.first) if made.first is not None else 0
    return of_first + sum(rung.trials for bracket in made.brackets for rung in bracket)
