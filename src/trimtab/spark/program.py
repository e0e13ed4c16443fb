"""A program on a Spark session that can drop tasks, and its input."""

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
    """The work of a job of one class, e.g. `WordPopularity`."""

    def __call__(self, context: SparkContext, theta: float, seed: int) -> object:
        """Run on `context` with tasks dropped at the ratio `theta`, drawn with `seed`."""
        ...


def warm_up(session: Session, programs: Iterable[SparkProgram], repeats: int) -> None:
    """Run programs in turn, as the first runs of a session take longest."""
    for _ in range(repeats):
        for program in programs:
            program(session.context, 0.0, 0)


def input_name(path: Path) -> str:
    """Return a local path for Hadoop; no URI, whose escapes Hadoop would not decode.

    Raises UserError for a path that Hadoop would read as a pattern.
    """
    absolute = str(path.absolute())
    if found := _PATTERNS & set(absolute):
        raise UserError(f"{path}: Spark reads no path with {' or '.join(sorted(found))} in it")
    return f"file://{absolute}"
