"""A program that runs on a Spark session and can leave tasks out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from trimtab.spark.session import Session

if TYPE_CHECKING:
    from pyspark import SparkContext


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
