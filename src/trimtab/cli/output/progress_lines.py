"""Progress of steps without a terminal: a line per step, and repeated lines of long ones."""

import time
from collections.abc import Callable
from typing import Any, Protocol

from rich.progress import TaskID

_EVERY_S = 30.0
# Units to count, singular and plural.
LIBRARIES, RUNS = ("library", "libraries"), ("run", "runs")


class ProgressBars(Protocol):
    """Shows the progress of a step's parts: bars of `rich`, or lines.

    The field `unit` of a part is the unit to count, such as RUNS.
    """

    def add_task(
        self, description: str, *, total: float | None = None, visible: bool = True, **fields: Any
    ) -> TaskID:
        """Return a new part."""
        ...

    def update(
        self,
        task_id: TaskID,
        *,
        total: float | None = None,
        completed: float | None = None,
        description: str | None = None,
        visible: bool | None = None,
    ) -> None:
        """Report the progress of a part."""
        ...


class ProgressLines:
    """Lines of progress: a part is reported once it is at work, then at most every 30 seconds.

    `tell` gets each line: `settling: 5 runs`, then `settling: 3 of 5 runs`.
    """

    def __init__(
        self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell, self._clock = tell, clock
        self._parts: list[dict[str, Any]] = []

    def add_task(
        self, description: str, *, total: float | None = None, visible: bool = True, **fields: Any
    ) -> TaskID:
        """Return a new part, not reported yet."""
        self._parts.append({"description": description, "total": total, **fields})
        return TaskID(len(self._parts) - 1)

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Report a part for the first time, or again after a while."""
        part = self._parts[task_id]
        part |= {name: value for name, value in changes.items() if value is not None}
        if "told_s" in part and self._clock() - part["told_s"] < _EVERY_S:
            return
        of_it = f"{part['completed']:,} of " if "told_s" in part else ""
        part["told_s"] = self._clock()
        one, several = part["unit"]
        counted = one if part["total"] == 1 else several
        self._tell(f"{part['description']}: {of_it}{part['total']:,} {counted}")
