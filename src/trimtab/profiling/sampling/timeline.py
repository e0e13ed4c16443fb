"""The running totals of a run over time, and their sums over parts of it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd


class Timeline:
    """Running totals at the times of their readings.

    A total is assumed to grow evenly between two readings. So the sums of windows that cover the
    run without gap or overlap add up to the run's totals.
    """

    def __init__(self) -> None:
        self._times: list[float] = []
        self._totals: list[dict[str, float]] = []
        self._levels: list[dict[str, int | None]] = []

    def add(
        self, time_s: float, totals: dict[str, float], levels: dict[str, int | None] | None = None
    ) -> None:
        """Add a reading with the same keys; previous readings at its time or later are dropped.

        `levels` are momentary values, shown but not summed.
        """
        while self._times and self._times[-1] >= time_s:
            for column in (self._times, self._totals, self._levels):
                column.pop()
        self._times.append(time_s)
        self._totals.append(totals)
        self._levels.append(levels or {})

    def frame(self) -> pd.DataFrame:
        """Return one row a reading: `time_s`, a column per total and per level."""
        frame = pd.concat(
            [pd.DataFrame(self._totals), pd.DataFrame(self._levels, dtype="Int64")], axis="columns"
        )
        frame.insert(0, "time_s", self._times)
        return frame

    def over(
        self, boundaries_s: Sequence[float], whole: Sequence[str] = ()
    ) -> list[dict[str, float]]:
        """Return the growth of each total in each window between neighbouring boundaries.

        Totals named in `whole` are rounded at the boundaries, so that their differences are whole
        and still add up.
        """
        windows: list[dict[str, float]] = [{} for _ in boundaries_s[1:]]
        for key in self._totals[0]:
            at = np.interp(boundaries_s, self._times, [totals[key] for totals in self._totals])
            grown = np.diff(np.rint(at) if key in whole else at)
            for window, value in zip(windows, grown, strict=True):
                window[key] = float(value)
        return windows
