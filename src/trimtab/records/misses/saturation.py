"""How much of a program's possible use some runs have shown, and how much is unseen."""

from typing import Annotated, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.records.document import PART
from trimtab.records.values import AboveZero, Amount, Share, Whole, one_of


@dataclass(frozen=True, config=PART)
class Saturation:
    """The use of `what` by `runs`, each run being one sample: the inputs of estimates.

    `seen` items were used by any run, `once` by exactly one and `twice` by two. `curve` is the
    number seen after 1, 2, ... runs, averaged over all orders. `next_run` is the expected number of
    new items in one more run (Good and Turing). `unseen` is a lower bound of the items that no run
    used (Chao2), and `coverage` the share of a run's use that was seen before. These need at least
    two runs. `by` is what a run is: a run of one workload, or one of each.
    """

    what: Annotated[str, one_of("functions", "files")]
    by: Annotated[str, one_of("run", "workload")]
    runs: AboveZero
    seen: Whole
    once: Whole
    twice: Whole
    curve: list[Amount]
    next_run: Amount | None
    unseen: Amount | None
    coverage: Share | None

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if len(self.curve) != self.runs or self.once + self.twice > self.seen:
            raise ValueError("curve, once, twice: not of so many runs")
        estimates = (self.next_run, self.unseen, self.coverage)
        if any((each is None) != (self.runs == 1) for each in estimates):
            raise ValueError(
                "next_run, unseen, coverage: expected with two runs or more, and only then"
            )
        return self

    def __str__(self) -> str:
        """The answer in words: whether the runs were enough."""
        if self.next_run is None or self.coverage is None or self.unseen is None:
            return f"{self.what}: one {self.by} tells nothing of the next"
        return (
            f"{self.what}: {self.seen:,} used by {self.runs} {self.by}s; one more is expected to"
            f" use {self.next_run:,.0f} others ({1 - self.coverage:.2%} of its own), and at least"
            f" {self.unseen:,.0f} are unseen"
        )
