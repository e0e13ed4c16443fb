"""Task metrics of Spark's event log, summed over the tasks that ended since an offset.

The sums follow `org.apache.spark.executor.TaskMetrics`; the thesis of Rocha (section 5.2.4) reads
the same with SparkMeasure.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.errors import UserError

_TASK_END = b'{"Event":"SparkListenerTaskEnd"'


@dataclass(frozen=True)
class TaskSums:
    """Sums over tasks; `task_s` is their time in slots."""

    tasks: int = 0
    task_s: float = 0.0
    deserialization_s: float = 0.0
    shuffle_wait_s: float = 0.0
    shuffle_read_bytes: int = 0
    shuffle_write_bytes: int = 0
    gc_s: float = 0.0
    executor_cpu_s: float = 0.0


def sum_tasks(path: Path, offset: int = 0) -> TaskSums:
    """Return the sums over the tasks in the event log at `path` from byte `offset` on.

    An unfinished last line is left out. Raises UserError for lines other than Spark's events in
    plain JSON.
    """
    ended = []
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            if line.startswith(_TASK_END) and line.endswith(b"\n"):
                ended.append(_costs(path, line))
    totals = [sum(column) for column in zip(*ended, strict=True)]
    return TaskSums(len(ended), *totals) if ended else TaskSums()


def _costs(path: Path, line: bytes) -> tuple[float, ...]:
    try:
        event = json.loads(line)
        info, metrics = event["Task Info"], event.get("Task Metrics") or {}
        read = metrics.get("Shuffle Read Metrics") or {}
        written = metrics.get("Shuffle Write Metrics") or {}
        return (
            (_number(info, "Finish Time") - _number(info, "Launch Time")) / 1e3,
            _number(metrics, "Executor Deserialize Time") / 1e3,
            _number(read, "Fetch Wait Time") / 1e3,
            _number(read, "Remote Bytes Read") + _number(read, "Local Bytes Read"),
            _number(written, "Shuffle Bytes Written"),
            _number(metrics, "JVM GC Time") / 1e3,
            _number(metrics, "Executor CPU Time") / 1e9,
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UserError(f"{path}: no event log of Spark: the end of a task is damaged") from None


def _number(fields: dict[str, Any], name: str) -> int:
    value = fields.get(name, 0)  # failed tasks have no metrics
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError(name)
    return value
