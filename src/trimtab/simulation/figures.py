"""The figures of a simulation by class, gathered while it runs.

Memory grows with the number of different pairs of a class and a bin of response times, not with
that of jobs.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.compiled import compiled
from trimtab.policies.layout import NIL
from trimtab.records.figures import RANKS, ClassFigures, ResponseFigures, TotalFigures

# Bins of response times, by floating-point bits: 512 per octave, 1e-9 to 2e10 s.
_BINS_LOG2, _LOWEST, _OCTAVES = 9, -30, 64
_SHIFT = np.int64(52 - _BINS_LOG2)
_FIRST = np.int64((1023 + _LOWEST) << _BINS_LOG2)
_BINS = _OCTAVES << _BINS_LOG2
_KEYS = 1 << 14

_COUNTS = ("jobs", "priority", "evictions", "migrations", "dropped_tasks")
_TIMES = (
    "response_s", "execution_s", "set_up_s", "sprint_s", "energy_j", "wasted_core_s", "core_s"
)  # fmt: skip
_SUM = np.dtype([(name, "i8") for name in _COUNTS] + [(name, "f8") for name in _TIMES])


_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_S32 = np.uint64(32)


@compiled
def _count(keys: Any, counts: Any, key: int, more: int) -> int:
    """Add to the count of a key, in a hash table; return how many keys are new."""
    mask = np.uint64(len(keys) - 1)
    at = ((np.uint64(key) * _MULTIPLIER) >> _S32) & mask
    while keys[at] != NIL and keys[at] != key:
        at = (at + np.uint64(1)) & mask
    new = keys[at] == NIL
    keys[at] = key
    counts[at] += more
    return int(new)


@compiled
def _count_again(keys: Any, counts: Any, known: Any, their_counts: Any) -> None:
    for at in range(len(known)):
        _count(keys, counts, known[at], their_counts[at])


@compiled
def _add(rows: Any, begin: int, sums: Any, keys: Any, counts: Any, used: int) -> tuple[int, int]:
    """Add the rows from `begin` on; return the reached row, and the number of keys.

    It ends before all rows where the table of keys is half full.
    """
    time_s = np.empty(1)
    bits = time_s.view(np.int64)
    for at in range(begin, len(rows)):
        if 2 * used >= len(keys):
            return at, used
        row = rows[at]
        one = sums[row.job_class]
        one.jobs += 1
        one.priority = row.priority
        one.evictions += row.evictions
        one.migrations += row.migrations
        one.dropped_tasks += row.dropped_tasks
        one.response_s += row.response_s
        one.execution_s += row.execution_s
        one.set_up_s += row.set_up_s
        one.sprint_s += row.sprint_s
        one.energy_j += row.energy_j
        one.wasted_core_s += row.cpu_milli * 1e-3 * row.wasted_s
        one.core_s += row.cpu_milli * 1e-3 * (row.wasted_s + row.execution_s)
        time_s[0] = row.response_s
        number = (bits[0] >> _SHIFT) - _FIRST
        number = row.job_class * _BINS + min(max(number, 0), _BINS - 1)
        used += _count(keys, counts, number, 1)
    return len(rows), used


class FigureSums:
    """Sums and percentiles of finished jobs by class.

    Means are exact. A percentile is the middle of a bin, within 0.1 % of the exact one; below 1e-9
    s it is 0.
    """

    def __init__(self, class_names: Sequence[str]) -> None:
        self._names = list(class_names)
        self._sums = np.zeros(len(self._names), _SUM)
        # By class * _BINS + bin: the number of jobs.
        self._keys, self._counts = np.full(_KEYS, NIL, np.int64), np.zeros(_KEYS, np.int64)
        self._used = 0

    def add(self, rows: NDArray[np.void]) -> None:
        """Add finished jobs, layout.FINISHED_ROW."""
        at = 0
        while at < len(rows):
            at, self._used = _add(rows, at, self._sums, self._keys, self._counts, self._used)
            if at < len(rows):
                keys, counts = self._keys, self._counts
                self._keys = np.full(4 * len(keys), NIL, np.int64)
                self._counts = np.zeros(4 * len(keys), np.int64)
                known = keys != NIL
                _count_again(self._keys, self._counts, keys[known], counts[known])

    def classes(self) -> dict[str, ClassFigures]:
        """Return the figures of each class with finished jobs."""
        keys, counts = self._histogram()
        begins = np.searchsorted(keys, np.arange(len(self._names) + 1) * _BINS)
        return {
            self._names[at]: ClassFigures(
                **_figures(
                    self._sums[at : at + 1],
                    keys[begins[at] : begins[at + 1]] - at * _BINS,
                    counts[begins[at] : begins[at + 1]],
                ),
                priority=int(self._sums[at]["priority"]),
            )
            for at in np.flatnonzero(self._sums["jobs"]).tolist()
        }

    def total(self, **of_cluster: Any) -> TotalFigures:
        """Return the figures over all classes, and of the cluster."""
        keys, counts = self._histogram()
        bins, place = np.unique(keys % _BINS, return_inverse=True)
        together = np.zeros(len(bins), np.int64)
        np.add.at(together, place, counts)
        return TotalFigures(**_figures(self._sums, bins, together), **of_cluster)

    def _histogram(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the keys with jobs, sorted, and their counts."""
        known = np.flatnonzero(self._keys != NIL)
        known = known[np.argsort(self._keys[known])]
        return self._keys[known], self._counts[known]


def _figures(
    sums: NDArray[np.void], bins: NDArray[np.int64], counted: NDArray[np.int64]
) -> dict[str, Any]:
    total = {name: sums[name].sum().item() for name in _SUM.names or ()}
    counts = ("jobs", "evictions", "migrations", "dropped_tasks", "sprint_s", "energy_j")
    return {name: total[name] for name in counts} | _means(total, bins, counted)


def _means(
    total: dict[str, Any], bins: NDArray[np.int64], counted: NDArray[np.int64]
) -> dict[str, float | None]:
    jobs = total["jobs"]
    if jobs == 0:
        return dict.fromkeys(["set_up_mean_s", *(field.name for field in fields(ResponseFigures))])
    response_s, execution_s = total["response_s"] / jobs, total["execution_s"] / jobs
    percentiles_s = zip(RANKS, _percentiles(bins, counted), strict=True)
    return {
        "response_mean_s": response_s,
        **{f"response_p{rank}_s": value_s for rank, value_s in percentiles_s},
        "waiting_mean_s": response_s - execution_s,
        "execution_mean_s": execution_s,
        "set_up_mean_s": total["set_up_s"] / jobs,
        "waste_share": total["wasted_core_s"] / total["core_s"] if total["core_s"] else 0.0,
    }


def _percentiles(bins: NDArray[np.int64], counted: NDArray[np.int64]) -> list[float]:
    reached = np.cumsum(counted)
    bins = bins[np.searchsorted(reached, [rank / 100 * reached[-1] for rank in RANKS])]
    low, high = (((bins + _FIRST + more) << _SHIFT).view(np.float64) for more in (0, 1))
    return [float(value) for value in np.where(bins == 0, 0.0, (low + high) / 2)]
