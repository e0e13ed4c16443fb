"""The cost of measuring inference, and its end with the search."""

import threading


class MeasurementCost:
    """The time and energy of measurements; `stopped` ends the running one.

    One thread measures and another one reads.
    """

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._wall_s = self._energy_j = 0.0

    def add(self, wall_s: float, energy_j: float) -> None:
        """Add the cost of a measurement, its program's start included; NaN J where unknown."""
        with self._lock:
            self._wall_s += wall_s
            self._energy_j += energy_j

    def taken(self) -> tuple[float, float]:
        """Return the seconds and joules since the last call."""
        with self._lock:
            taken = self._wall_s, self._energy_j
            self._wall_s = self._energy_j = 0.0
        return taken
