"""`trimtab tune --deploy`: the best configuration as a folder, with --slim its environment."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from trimtab.cli.output.console import console
from trimtab.cli.program_options import ProgramOptions
from trimtab.cli.result_lines import say_result
from trimtab.cli.steps import slimmed, traced
from trimtab.config.groups.debloat import Debloat
from trimtab.errors import UserError
from trimtab.tuning.deployment.folder import SCRIPT, deploy, module_folders, short_command
from trimtab.tuning.deployment.outputs import result_in

if TYPE_CHECKING:
    from trimtab.tuning.request import Request

_SETTLE = 5


def deployed(folder: Path, request: "Request", tuned: Path, *, slim: bool) -> Path:
    """Write the deployment of `tuned`/best.yaml into `folder` and return its script.

    With `slim` the program is traced in it with the fewest epochs, and `slim/env` is its slim
    environment. Raises UserError where that has no Python interpreter.
    """
    best = tuned / "best.yaml"
    document = yaml.safe_load(best.read_text())
    deploy(folder, request.workload, document, result_in(best))
    if slim:
        _make_slim(folder, request, document)
    script = folder / SCRIPT
    console.path(script)
    return script


def _make_slim(folder: Path, request: "Request", document: Mapping[str, Any]) -> None:
    workload = request.workload
    if workload.python is None:
        raise UserError("--slim: the program is not Python; expected a Python program")
    given = ProgramOptions(python=Path(workload.python), timeout_s=workload.timeout_s)
    command = short_command(folder, workload, document, request.tuning.epochs.least)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [*map(str, module_folders(folder, workload)), *([before] if before else [])]
    )
    try:
        traced(folder / "slim", command, given, 1)
        words = "making and settling the slim environment"
        say_result(
            folder / "slim", slimmed(folder / "slim", Debloat(name="tuned"), None, _SETTLE, words)
        )
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before
