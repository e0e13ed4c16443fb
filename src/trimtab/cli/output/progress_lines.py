"""How far steps are where there is no terminal: a line a step, and one a while of a long one."""

import time
from collections.abc import Callable
from typing import Any, Protocol

from rich.progress import TaskID

_EVERY_S = 30.0
# What is counted: one, and several.
LIBRARIES, RUNS = ("library", "libraries"), ("run", "runs")


class ProgressBars(Protocol):
    """What tells how far the parts of a step are: bars of `rich`, or lines.

    The field `unit` of a part is what is counted, such as RUNS.
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
        """Tell how far a part is."""
        ...


class ProgressLines:
    """As Bars: a part is told once it is at work, and then every 30 seconds at most.

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
        """Return a new part; nothing is told of it yet."""
        self._parts.append({"description": description, "total": total, **fields})
        return TaskID(len(self._parts) - 1)

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Tell of a part for the first time, or after a while."""
        part = self._parts[task_id]
        part |= {name: value for name, value in changes.items() if value is not None}
        if "told_s" in part and self._clock() - part["told_s"] < _EVERY_S:
            return
        of_it = f"{part['completed']:,} of " if "told_s" in part else ""
        part["told_s"] = self._clock()
        one, several = part["unit"]
        counted = one if part["total"] == 1 else several
        self._tell(f"{part['description']}: {of_it}{part['total']:,} {counted}")
