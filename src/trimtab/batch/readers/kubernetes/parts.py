"""What pods and workloads become: jobs of equal parts."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from trimtab.batch.readers.kubernetes.demands import Demand, largest_of

NEVER_STARTED, STILL_RUNNING = "never started", "still running"


class Job(NamedTuple):
    """A job, with the columns of BATCH_JOBS that Kubernetes knows; times in s since 1970."""

    name: str
    submit_s: float
    start_s: float
    run_s: float
    estimate_s: float
    parts: float
    cpu_milli: float
    gpu_milli: float
    memory_bytes: float
    gpu_type: str
    user: str
    queue: str
    priority: float
    image: str


def equal_parts(
    pods: Sequence[tuple[Demand, float]], remarks: Counter[str]
) -> tuple[Demand, float]:
    """Return one demand for all pods of a gang, and their number, from demands with their counts.

    Where some have GPUs, the others (launchers) are left out. Each part is as large as the largest.
    """
    with_gpus = [pod for pod in pods if pod[0].gpu_milli > 0]
    kept = with_gpus or pods
    if len(kept) < len(pods):
        remarks["gangs whose pods without GPUs are left out"] += 1
    largest = largest_of(demand for demand, _ in kept)
    if any(demand != kept[0][0] for demand, _ in kept):
        remarks["gangs of unequal pods, each as large as the largest"] += 1
    return largest, sum(count for _, count in kept)


def image_of(spec: Mapping[str, Any]) -> str:
    """Return the image of a pod's first container; nothing if it has none."""
    return next((str(each.get("image") or "") for each in spec.get("containers") or ()), "")


def time_s(text: Any) -> float:
    """Return a time in RFC 3339 as s since 1970; NaN for none. Raises ValueError for other text."""
    if text is None:
        return math.nan
    time = datetime.fromisoformat(str(text))
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def earliest(times: Iterable[float]) -> float:
    """Return the smallest known time; NaN if none is known."""
    return min((time for time in times if not math.isnan(time)), default=math.nan)


def latest(times: Iterable[float]) -> float:
    """Return the largest known time; NaN if none is known."""
    return max((time for time in times if not math.isnan(time)), default=math.nan)


def first_value(values: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Return the value of the first key that is there; nothing if none is."""
    return next((str(values[key]) for key in keys if key in values), "")
