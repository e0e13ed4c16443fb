"""The risk of a miss: how probable it is that the next run asks for something removed.

The unit is a run: the misses of a run come in clumps, so counting functions would count one
surprise a thousand times. Good and Turing estimate the probability of something new by the share of
observations that were seen once. For traced runs this share is unknown, as slim runs do not report
what the traced runs also used. But pieces seen once are equally likely in any run, so the share
among the slim runs equals the share among all runs.
"""

import math
from collections import Counter
from collections.abc import Sequence

from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.settling import Risk, Settling, SlimRun

_CONFIDENCE = 0.95


class RunHistory:
    """The runs in a target's slim environments, from the first build on, after `settling`.

    `pieces` are the removed pieces that runs asked for, numbered in order of the first miss.
    """

    def __init__(self, settling: Settling | None = None) -> None:
        self.builds = settling.builds if settling else 1
        self.runs: list[SlimRun] = list(settling.runs) if settling else []
        self.pieces: list[RemovedCall] = []
        self._number: dict[tuple[str, int], int] = {}
        for piece in settling.missed if settling else ():
            self._number_of(piece)

    def add(self, workload: str, condition: str, calls: Sequence[RemovedCall]) -> set[int]:
        """Add a run in the last build, and return the numbers of `calls`."""
        misses = {self._number_of(call) for call in calls}
        self.runs.append(SlimRun(workload, condition, self.builds - 1, sorted(misses)))
        return misses

    def _number_of(self, piece: RemovedCall) -> int:
        number = self._number.setdefault((piece.library, piece.address), len(self.pieces))
        if number == len(self.pieces):
            self.pieces.append(piece)
        return number

    def risk_of(self, workload: str) -> Risk:
        """Return the risk of `workload` in the last build."""
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
        """Return the runs in the last build, and the runs just before it without new misses.

        The last build keeps all that these asked for, so they would have missed nothing in it.
        """
        seen: set[int] = set()
        first = 0
        for number, run in enumerate(self.runs):
            if run.build < self.builds - 1 and not seen.issuperset(run.misses):
                first = number + 1
            seen.update(run.misses)
        return self.runs[first:]


def upper_bound(hits: int, trials: int) -> float:
    """Return the probability of a hit at which 5 % of such series have at most `hits`.

    The exact one-sided bound for a binomial proportion (Clopper and Pearson 1934): 1 -
    0.05^(1/trials) without a hit, and 1 without a trial.
    """
    if hits == trials:
        return 1.0
    low, high = hits / trials, 1.0
    while (middle := (low + high) / 2) not in (low, high):  # until the two are neighbouring floats
        if _at_most(hits, trials, middle) > 1 - _CONFIDENCE:
            low = middle
        else:
            high = middle
    return high


def _at_most(hits: int, trials: int, probability: float) -> float:
    """Return the probability of at most `hits` in `trials`; 0 < probability < 1."""
    hit, miss = math.log(probability), math.log1p(-probability)
    return math.fsum(
        math.exp(_log_choices(trials, count) + count * hit + (trials - count) * miss)
        for count in range(hits + 1)
    )


def _log_choices(trials: int, count: int) -> float:
    return math.lgamma(trials + 1) - math.lgamma(count + 1) - math.lgamma(trials - count + 1)
