"""`start.json`: how programs of a slim environment start from snapshots of their imports."""

from statistics import median
from typing import ClassVar, Literal, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.values import Amount, Text, Whole, Word


@dataclass(frozen=True, config=PART)
class WorkloadStart:
    """How a workload starts: from a snapshot of `size_bytes`, or as usual if there is none.

    `pairs_s` are the seconds of starts without the snapshot and with it, in turn: to the mark
    `first_iteration`, or else of the `whole_run`. `before_s` and `after_s` are their medians, None
    without a snapshot. `reason` is the program's next act, which no snapshot can have, or why
    there is none. `making_s` is how long it took to save and compare the start, None if unknown.
    """

    workload: Word
    size_bytes: Whole
    before_s: Amount | None
    after_s: Amount | None
    pairs_s: list[tuple[Amount, Amount]]
    reason: Text
    making_s: Amount | None = None
    whole_run: bool = False

    @property
    def saved_s(self) -> float:
        """How much less a start takes, the median of the pairs; 0 if not all of them agree."""
        saved_s = [before_s - after_s for before_s, after_s in self.pairs_s]
        return median(saved_s) if saved_s and min(saved_s) > 0 else 0.0

    @property
    def saved_share(self) -> float:
        """Likewise as a share of a usual start."""
        if not self.saved_s:
            return 0.0
        return median(1 - after_s / before_s for before_s, after_s in self.pairs_s)


class SavedStarts(Document):
    """The starts of a target's workloads; none if starts are as usual."""

    stage: ClassVar[str] = "debloat"
    version: Literal[1] = 1
    target: Word
    hardware: Word
    workloads: list[WorkloadStart]

    @model_validator(mode="after")
    def _was_measured_if_saved(self) -> Self:
        for each in self.workloads:
            has = {bool(each.size_bytes), bool(each.pairs_s)}
            has |= {seconds is not None for seconds in (each.before_s, each.after_s)}
            if len(has) > 1:
                raise ValueError(f"workloads: {each.workload}: expected times of a snapshot only")
        return self
