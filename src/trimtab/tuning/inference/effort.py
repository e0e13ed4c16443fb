"""What measuring inference takes, and that it ends with the search that asked for it."""

import threading


class MeasurementCost:
    """The time and energy of measurements; `stopped` is set where the one that runs is to end.

    One thread measures and another one asks.
    """

    def __init__(self) -> None:
        self.stopped = threading.Event()
        self._lock = threading.Lock()
        self._wall_s = self._energy_j = 0.0

    def add(self, wall_s: float, energy_j: float) -> None:
        """Add what a measurement took, its program's start included; NaN J where unknown."""
        with self._lock:
            self._wall_s += wall_s
            self._energy_j += energy_j

    def taken(self) -> tuple[float, float]:
        """Return the seconds and joules since this was asked last."""
        with self._lock:
            taken = self._wall_s, self._energy_j
            self._wall_s = self._energy_j = 0.0
        return taken
