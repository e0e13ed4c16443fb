"""Which lines of Slurm's accounting are jobs that started: no steps, none pending."""

import re
from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_NOT_STARTED = "never started"
_PENDING = ["PENDING", "REVOKED"]
_RUNNING = ["RUNNING", "SUSPENDED", "RESIZING", "COMPLETING", "CONFIGURING", "STAGE_OUT",
            "SIGNALING", "STOPPED"]  # fmt: skip
_TASKS = re.compile(r"_\[([0-9,:.-]{1,100000})(?:%[0-9]+)?\]")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?::([1-9][0-9]{0,8}))?)?")


class Times(NamedTuple):
    """Which rows have a start, an end (True where the file has no ends), and lasted above 0 s."""

    started: NDArray[np.bool_]
    ended: NDArray[np.bool_]
    lasted: NDArray[np.bool_]


def rows_that_ran(
    identity: pa.Array,
    state: pa.Array,
    times: Times,
    skipped: Counter[str],
    remarks: Counter[str],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows are jobs that started, and which still ran; count others in `skipped`.

    `identity` is JobID: `12`, `12.batch` (a step), `12_3` (a task of an array), `12_[4-9%2]` (its
    pending tasks), or `12+1` (a component). A cancelled job that did not last never started. A job
    without a state still ran if it has no end.
    """
    word = pc.utf8_upper(pc.replace_substring_regex(state, r"^\s*(\w*)(.|\n)*$", r"\1"))

    def is_in(words: list[str]) -> NDArray[np.bool_]:
        return np.asarray(pc.is_in(word, pa.array(words)).to_numpy(zero_copy_only=False))

    step = np.asarray(
        pc.match_substring_regex(identity, r"^[^\[]*\.").to_numpy(zero_copy_only=False)
    )
    running = is_in(_RUNNING) | is_in([""]) & ~times.ended
    cancelled = is_in(["CANCELLED"]) & ~times.lasted
    waiting = ~step & (is_in(_PENDING) | ~times.started | cancelled)
    skipped[_NOT_STARTED] += sum(_tasks(name) for name in identity.filter(waiting).to_pylist())
    component = pc.match_substring(identity, "+").to_numpy(zero_copy_only=False)
    remarks["steps of jobs, left out"] += int(step.sum())
    ran = ~(step | waiting)
    remarks["components of heterogeneous jobs, each a job"] += int((component & ran).sum())
    return ran, running


def _tasks(name: str) -> int:
    """Return how many jobs a JobID stands for."""
    match = _TASKS.search(name)
    count = 0
    for item in match[1].split(",") if match else ():
        bounds = _RANGE.fullmatch(item)
        if bounds:
            first, last = int(bounds[1]), int(bounds[2] or bounds[1])
            count += max(last - first, 0) // int(bounds[3] or 1) + 1
    return max(count, 1)
