"""What `trimtab tune --track` tells a tracker; the real ones are no part of trimtab."""

import math
import sys
from pathlib import Path
from typing import Any

import pytest

from trimtab.cli.tuning.trackers import tracker_of
from trimtab.errors import UserError
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.hyperband import RungJob
from trimtab.tuning.plan import RungResult

RESULT = RungResult(
    3, RungJob(0, 0), Budget(2, 1.0), {"training.rate": 0.1}, 0.9,
    {"accuracy": 0.9, "training_j": math.nan}, 2, 1.5, 0.0, "unknown",
    2.0, 1.0, math.nan, 2.0, 0.5, 0.0, 2.0, {}, {},
)  # fmt: skip
# A stand-in with the calls of MLflow and of Weights & Biases; `log` raises from the second on.
LIBRARY = """
told = []
class _Run:
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def log(self, values):
        if any(kind == "values" for kind, _ in told): raise OSError("no\\n server")
        told.append(("values", values))
def start_run(run_name): told.append(("run", run_name)); return _Run()
def init(name, config): told.extend([("run", name), ("parameters", config)]); return _Run()
def log_params(parameters): told.append(("parameters", parameters))
log_metrics = _Run().log
"""


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_trial_is_a_run_and_an_error_ends_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / f"{name}.py").write_text(LIBRARY)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    said: list[Any] = []
    track = tracker_of(name, said.append)
    track(RESULT)
    told = sys.modules[name].told
    assert told == [
        ("run", "trial 3, 2 epochs"),
        ("parameters", {"training.rate": 0.1}),
        ("values", {"accuracy": 0.9, "wall_s": 2.0}),
    ]
    track(RESULT)
    track(RESULT)
    assert said == [f"--track {name}: no server; later trials are not told"]
    monkeypatch.delitem(sys.modules, name)


def test_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="expected one of mlflow, wandb"):
        tracker_of("mflow", print)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(UserError, match=r"this installs it: .*wandb"):
        tracker_of("wandb", print)
    tracker_of(None, print)(RESULT)
