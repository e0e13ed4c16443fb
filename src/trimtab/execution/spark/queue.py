"""A queue of a user's own Python programs on Apache Spark, under P, NP or DiAS."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from trimtab.errors import UserError
from trimtab.execution.history import JobOutcome
from trimtab.execution.queue_file import QueueFile
from trimtab.execution.spark.run import run_trace
from trimtab.policies.base import Policy
from trimtab.spark.program import SparkProgram
from trimtab.spark.session import Session

if TYPE_CHECKING:
    from pyspark import SparkContext


@dataclass(frozen=True)
class UserProgram:
    """A function of a user's file: `function(context, theta, seed)`, a `SparkProgram`."""

    name: str
    function: SparkProgram

    def __call__(self, context: SparkContext, theta: float, seed: int) -> object:
        """Run it; raises UserError with the function's name and its exception."""
        try:
            return self.function(context, theta, seed)
        except Exception as error:
            raise UserError(f"{self.name}: {_said(error)}") from error


def load_programs(session: Session, queue: QueueFile) -> dict[str, UserProgram]:
    """Return the function of each class, `FILE.py:FUNCTION`, and send the files to the workers.

    Raises UserError for a missing file or function, and for a file that cannot be imported under
    its own name.
    """
    programs = {}
    for job_class, named in queue.programs.items():
        file, _, function = named.rpartition(":")
        path = (queue.folder / file).absolute()
        module = _import(path)
        found = getattr(module, function, None)
        if not callable(found):
            raise UserError(f"{path}: no function {function}, which class {job_class} names")
        session.context.addPyFile(str(path))
        programs[job_class] = UserProgram(named, found)
    return programs


def run_programs(
    session: Session, programs: Mapping[str, SparkProgram], queue: QueueFile, policy: Policy
) -> JobOutcome:
    """Run every job of `queue` on Spark, one at a time, and return their results.

    The machine's best sprinter sprints. Energy is not measured. Raises UserError when a program
    fails; the jobs after it do not run.
    """
    trace = pd.DataFrame(
        [(job.job, job.job_class, job.priority, job.arrival_s) for job in queue.jobs],
        columns=["job", "job_class", "priority", "arrival_s"],
    )
    ran = run_trace(session, trace, programs, policy)
    return JobOutcome(
        ran.jobs, ran.allocations, dict.fromkeys(trace["job"].tolist(), 0), ran.sprinter
    )


def _said(error: Exception) -> str:
    """Return an error's text; of Spark's errors, the part before the Java stack."""
    said = f"{type(error).__name__}: {error}"
    with suppress(AttributeError):
        said = error.java_exception.getMessage()  # type: ignore[attr-defined]
    lines = [line for line in said.splitlines() if line and not line.startswith("\tat ")]
    return "\n".join(lines)


def _import(path: Path) -> object:
    """Import the file under its own name, as Spark's workers do."""
    loaded = sys.modules.get(path.stem)
    if loaded is not None and getattr(loaded, "__file__", None) == str(path):
        return loaded
    other = importlib.util.find_spec(path.stem)
    # Folders without `__init__.py` have no origin; a file of that name takes precedence.
    if loaded is not None or (other is not None and other.origin is not None):
        raise UserError(f"{path}: there is another module {path.stem}: give it another name")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UserError(f"{path}: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[path.stem]
        raise UserError(f"{path}: {type(error).__name__}: {error}") from error
    return module
