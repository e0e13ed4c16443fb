"""The figures of a simulation by class, gathered while it runs, in constant memory."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.compiled import compiled
from trimtab.records.figures import RANKS, ClassFigures, ResponseFigures, TotalFigures

# Bins of response times, by floating-point bits: 512 per octave, 1e-9 to 2e10 s.
_BINS_LOG2, _LOWEST, _OCTAVES = 9, -30, 64
_SHIFT = np.int64(52 - _BINS_LOG2)
_FIRST = np.int64((1023 + _LOWEST) << _BINS_LOG2)
_BINS = _OCTAVES << _BINS_LOG2

_COUNTS = ("jobs", "priority", "evictions", "migrations", "dropped_tasks")
_TIMES = (
    "response_s", "execution_s", "set_up_s", "sprint_s", "energy_j", "wasted_core_s", "core_s"
)  # fmt: skip
_SUM = np.dtype([(name, "i8") for name in _COUNTS] + [(name, "f8") for name in _TIMES])


@compiled
def _add(rows: Any, sums: Any, histogram: Any) -> None:
    time_s = np.empty(1)
    bits = time_s.view(np.int64)
    for at in range(len(rows)):
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
        histogram[row.job_class, min(max(number, 0), _BINS - 1)] += 1


class FigureSums:
    """Sums and percentiles of finished jobs by class.

    Means are exact. A percentile is the middle of a bin, within 0.1 % of the exact one; below 1e-9
    s it is 0.
    """

    def __init__(self, class_names: Sequence[str]) -> None:
        self._names = list(class_names)
        self._sums = np.zeros(len(self._names), _SUM)
        self._histogram = np.zeros((len(self._names), _BINS), np.int64)

    def add(self, rows: NDArray[np.void]) -> None:
        """Add finished jobs, layout.FINISHED_ROW."""
        _add(rows, self._sums, self._histogram)

    def classes(self) -> dict[str, ClassFigures]:
        """Return the figures of each class with finished jobs."""
        return {
            name: ClassFigures(
                **_figures(self._sums[at : at + 1], self._histogram[at]),
                priority=int(self._sums[at]["priority"]),
            )
            for at, name in enumerate(self._names)
            if self._sums[at]["jobs"]
        }

    def total(self, **of_cluster: Any) -> TotalFigures:
        """Return the figures over all classes, and of the cluster."""
        return TotalFigures(**_figures(self._sums, self._histogram.sum(axis=0)), **of_cluster)


def _figures(sums: NDArray[np.void], histogram: NDArray[np.int64]) -> dict[str, Any]:
    total = {name: sums[name].sum().item() for name in _SUM.names or ()}
    counts = ("jobs", "evictions", "migrations", "dropped_tasks", "sprint_s", "energy_j")
    return {name: total[name] for name in counts} | _means(total, histogram)


def _means(total: dict[str, Any], histogram: NDArray[np.int64]) -> dict[str, float | None]:
    jobs = total["jobs"]
    if jobs == 0:
        return dict.fromkeys(["set_up_mean_s", *(field.name for field in fields(ResponseFigures))])
    response_s, execution_s = total["response_s"] / jobs, total["execution_s"] / jobs
    percentiles_s = zip(RANKS, _percentiles(histogram), strict=True)
    return {
        "response_mean_s": response_s,
        **{f"response_p{rank}_s": value_s for rank, value_s in percentiles_s},
        "waiting_mean_s": response_s - execution_s,
        "execution_mean_s": execution_s,
        "set_up_mean_s": total["set_up_s"] / jobs,
        "waste_share": total["wasted_core_s"] / total["core_s"] if total["core_s"] else 0.0,
    }


def _percentiles(histogram: NDArray[np.int64]) -> list[float]:
    reached = np.cumsum(histogram)
    bins = np.searchsorted(reached, [rank / 100 * reached[-1] for rank in RANKS])
    low, high = (((bins + _FIRST + more) << _SHIFT).view(np.float64) for more in (0, 1))
    return [float(value) for value in np.where(bins == 0, 0.0, (low + high) / 2)]
