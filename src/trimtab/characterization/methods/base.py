"""The input and output of learning methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from trimtab.characterization.data import DataSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Training:
    """The training data: `frame` has the records of `data` that are not held out.

    Its columns are `values`, an array of numbers; `features`, the same as a vector; and `label`.
    `slots` tasks run at a time.
    """

    frame: DataFrame
    data: DataSet
    slots: int
    seed: int


class FittedModel(Protocol):
    """A model on Spark, as in MLlib."""

    def transform(self, frame: DataFrame) -> DataFrame:
        """Return a frame with `label` and `prediction`, and for clusterings `features`."""
        ...
