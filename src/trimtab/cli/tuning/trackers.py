"""`trimtab tune --track`: each trial as a run of an experiment tracker."""

import math
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trimtab.errors import UserError
from trimtab.installation import adding

if TYPE_CHECKING:
    from trimtab.tuning.plan import RungResult

Track = Callable[["RungResult"], None]


def _to_mlflow(mlflow: Any, name: str, parameters: Mapping[str, Any], values: Any) -> None:
    with mlflow.start_run(run_name=name):
        mlflow.log_params(parameters)
        mlflow.log_metrics(values)


def _to_wandb(wandb: Any, name: str, parameters: Mapping[str, Any], values: Any) -> None:
    with wandb.init(name=name, config=parameters) as run:
        run.log(values)


_TRACKERS = {"mlflow": _to_mlflow, "wandb": _to_wandb}


def tracker_of(name: str | None, complain: Callable[[str], None]) -> Track:
    """Return what tells a tracker of a result: parameters, metrics and costs; without a name, none.

    The tracker's own variables, such as MLFLOW_EXPERIMENT_NAME, say where. `complain` is told of
    its first error, after which it is told of no more results. Raises UserError for an unknown
    tracker, and for one that is not installed.
    """
    if name is None:
        return lambda result: None
    if name not in _TRACKERS:
        raise UserError(f"--track {name}: expected one of {', '.join(_TRACKERS)}")
    try:
        library = import_module(name)
    except ImportError as error:
        command = adding([name], Path(sys.prefix))
        raise UserError(f"--track {name}: {error}; this installs it: {command}") from None
    has_failed = False

    def track(result: "RungResult") -> None:
        nonlocal has_failed
        if has_failed:
            return
        costs = {"wall_s": result.wall_s, "energy_j": result.energy_j}
        values = {
            key: value for key, value in {**result.metrics, **costs}.items() if math.isfinite(value)
        }
        run = f"trial {result.trial}, {result.budget.epochs} epochs"
        try:
            _TRACKERS[name](library, run, dict(result.configuration), values)
        except Exception as error:  # of a server, or of a login: the search goes on
            has_failed = True
            complain(f"--track {name}: {' '.join(str(error).split())}; later trials are not told")

    return track
