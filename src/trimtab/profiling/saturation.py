"""Saturation: whether the runs were enough, and an estimate of the unseen items.

A run uses a function or file, or does not: these are incidence data, with the run as the sampling
unit. After t runs, Q1 items were used by exactly one run and Q2 by two.

- The mean number seen after h of the runs, over all orders, has a closed form: sample-based
  rarefaction (Colwell, Mao and Chang 2004, equation 5).
- Unseen items, a lower bound: Chao2, bias-corrected, (t-1)/t Q1 (Q1-1) / (2 (Q2+1)) (Chao 1987; the
  form of Chao and Chiu 2016).
- New items of one more run: Q1/t (Good 1953, for incidence data). From it the coverage: the share
  of a run's items that others used too (Chao and Jost 2012, equation 5 for samples of incidence).
"""

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from math import comb
from typing import Literal

from trimtab.records.misses.saturation import Saturation


def saturation_of(
    what: Literal["functions", "files"],
    by: Literal["run", "workload"],
    used_in: Sequence[Collection[Hashable]],
) -> Saturation | None:
    """Return the saturation of used items; `used_in` has the items of each run, each once.

    Returns None without a run.
    """
    if not used_in:
        return None
    runs = len(used_in)
    times = Counter(item for used in used_in for item in set(used))
    how_many = Counter(times.values())
    once, twice = how_many[1], how_many[2]
    return Saturation(
        what=what,
        by=by,
        runs=runs,
        seen=len(times),
        once=once,
        twice=twice,
        curve=[_seen_after(drawn, runs, how_many) for drawn in range(1, runs + 1)],
        next_run=once / runs if runs > 1 else None,
        unseen=(runs - 1) / runs * once * (once - 1) / (2 * (twice + 1)) if runs > 1 else None,
        coverage=_coverage(runs, once, twice, sum(times.values())) if runs > 1 else None,
    )


def _seen_after(drawn: int, runs: int, how_many: Counter[int]) -> float:
    """Return the items seen: comb(runs - times, drawn) of comb(runs, drawn) choices miss one."""
    choices = comb(runs, drawn)
    return sum(
        number * (1 - comb(runs - times, drawn) / choices) for times, number in how_many.items()
    )


def _coverage(runs: int, once: int, twice: int, incidences: int) -> float:
    if not once:
        return 1.0
    again = (runs - 1) * once / ((runs - 1) * once + 2 * twice) if twice else 1.0
    return max(0.0, 1 - once / incidences * again)
