"""What is left to miss: how probable it is that the next run asks for something removed.

A run is the unit: what one run asks for comes in clumps, so that counting functions would count one
surprise a thousand times. Good and Turing estimate the probability of something new by the share of
observations that were seen once. Of the traced runs it cannot be said what was seen once, as a slim
run no longer tells that it uses what they used; but what was seen once is as likely to have been
seen in any of the runs, so that the share among the slim runs is that among all of them.
"""

import math
from collections import Counter
from collections.abc import Sequence

from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.settling import Risk, Settling, SlimRun

_CONFIDENCE = 0.95


class RunHistory:
    """The runs in a target's slim environments, from the first that was built; after `settling`.

    `pieces` are the removed ones that any of them asked for, numbered in that order.
    """

    def __init__(self, settling: Settling | None = None) -> None:
        self.builds = settling.builds if settling else 1
        self.runs: list[SlimRun] = list(settling.runs) if settling else []
        self.pieces: list[RemovedCall] = []
        self._number: dict[tuple[str, int], int] = {}
        for piece in settling.missed if settling else ():
            self._number_of(piece)

    def add(self, workload: str, condition: str, calls: Sequence[RemovedCall]) -> set[int]:
        """Add a run in the environment as it was built last, and return the numbers of `calls`."""
        misses = {self._number_of(call) for call in calls}
        self.runs.append(SlimRun(workload, condition, self.builds - 1, sorted(misses)))
        return misses

    def _number_of(self, piece: RemovedCall) -> int:
        number = self._number.setdefault((piece.library, piece.address), len(self.pieces))
        if number == len(self.pieces):
            self.pieces.append(piece)
        return number

    def risk_of(self, workload: str) -> Risk:
        """Return the risk of `workload` in the environment as it was built last."""
        asked_by = Counter(miss for run in self.runs for miss in run.misses)
        own = [run for run in self.runs if run.workload == workload]
        alone = sum(any(asked_by[miss] == 1 for miss in run.misses) for run in own)
        delivered = [run for run in self._as_delivered() if run.workload == workload]
        missing = sum(bool(run.misses) for run in delivered if run.build == self.builds - 1)
        return Risk(
            runs=len(own),
            runs_of_their_own=alone,
            estimate=alone / len(own) if own else None,
            runs_as_delivered=len(delivered),
            runs_with_misses=missing,
            bound=upper_bound(missing, len(delivered)),
        )

    def _as_delivered(self) -> list[SlimRun]:
        """Return the runs in the last build, and those just before it that asked for nothing new.

        The last build keeps what these asked for, so that in it they would have missed nothing.
        """
        seen: set[int] = set()
        first = 0
        for number, run in enumerate(self.runs):
            if run.build < self.builds - 1 and not seen.issuperset(run.misses):
                first = number + 1
            seen.update(run.misses)
        return self.runs[first:]


def upper_bound(hits: int, trials: int) -> float:
    """Return the probability of a hit at which 5 % of such series still have no more than `hits`.

    The exact one-sided bound for a binomial proportion (Clopper and Pearson 1934); without a hit
    it is 1 - 0.05^(1/trials), and 1 without a trial.
    """
    if hits == trials:
        return 1.0
    low, high = hits / trials, 1.0
    while (middle := (low + high) / 2) not in (low, high):  # until no number is between them
        if _at_most(hits, trials, middle) > 1 - _CONFIDENCE:
            low = middle
        else:
            high = middle
    return high


def _at_most(hits: int, trials: int, probability: float) -> float:
    """Return how probable no more than `hits` are in `trials`; 0 < probability < 1."""
    hit, miss = math.log(probability), math.log1p(-probability)
    return math.fsum(
        math.exp(_log_choices(trials, count) + count * hit + (trials - count) * miss)
        for count in range(hits + 1)
    )


def _log_choices(trials: int, count: int) -> float:
    return math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
