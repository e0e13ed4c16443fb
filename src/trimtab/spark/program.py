"""A program that runs on a Spark session and can leave tasks out, and what it reads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trimtab.errors import UserError

if TYPE_CHECKING:
    from pyspark import SparkContext

    from trimtab.spark.session import Session


_PATTERNS = set(",*?[]{}\\")  # of several inputs; a comma cannot be escaped


class SparkProgram(Protocol):
    """What a job of one class does, e.g. `WordPopularity`."""

    def __call__(self, context: SparkContext, theta: float, seed: int) -> object:
        """Run on `context` with tasks dropped at the ratio `theta`, drawn with `seed`."""
        ...


def warm_up(session: Session, programs: Iterable[SparkProgram], repeats: int) -> None:
    """Run programs in turn: the first runs of a session take longer than all others."""
    for _ in range(repeats):
        for program in programs:
            program(session.context, 0.0, 0)


def input_name(path: Path) -> str:
    """Return a local path as Hadoop takes it; not as a URI, whose escapes Hadoop does not undo.

    Raises UserError for a path that Hadoop would take for a pattern of several.
    """
    absolute = str(path.absolute())
    if found := _PATTERNS & set(absolute):
        raise UserError(f"{path}: Spark reads no path with {' or '.join(sorted(found))} in it")
    return f"file://{absolute}"
