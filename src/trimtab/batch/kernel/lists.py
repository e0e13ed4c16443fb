"""The sorted lists of jobs: waiting, running, and the heap of ends."""

from typing import Any

from trimtab.batch.kernel.layout import BatchState
from trimtab.clusters.compiled import lean


@lean
def precedes(s: BatchState, slot: int, other: int) -> bool:
    """Return whether a waiting job is served before another one."""
    order, others = s.jobs[slot].order, s.jobs[other].order
    return bool(order < others or (order == others and slot < other))


@lean
def insert(jobs: Any, length: int, at: int, slot: int) -> None:
    """Insert a job into a list at a position."""
    for place in range(length, at, -1):
        jobs[place] = jobs[place - 1]
    jobs[at] = slot


@lean
def remove(jobs: Any, length: int, at: int) -> None:
    """Remove the job at a position of a list."""
    for place in range(at, length - 1):
        jobs[place] = jobs[place + 1]


@lean
def waiting_place(s: BatchState, jobs: Any, length: int, slot: int) -> int:
    """Return where a job is, or belongs, in a list by `precedes`."""
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if precedes(s, jobs[middle], slot):
            low = middle + 1
        else:
            high = middle
    return low


@lean
def running_place(s: BatchState, slot: int) -> int:
    """Return where a job is, or belongs, in `running`."""
    low, high = 0, s.clock[0].running
    ends_s = s.jobs[slot].ends_s
    while low < high:
        middle = (low + high) // 2
        other = s.running[middle]
        others_s = s.jobs[other].ends_s
        if others_s < ends_s or (others_s == ends_s and other < slot):
            low = middle + 1
        else:
            high = middle
    return low


@lean
def _earlier(s: BatchState, slot: int, other: int) -> bool:
    end_s, others_s = s.jobs[slot].end_s, s.jobs[other].end_s
    return bool(end_s < others_s or (end_s == others_s and slot < other))


@lean
def push_end(s: BatchState, length: int, slot: int) -> None:
    """Add a job to the heap of ends, which has `length` jobs."""
    at = length
    while at > 0:
        above = (at - 1) // 2
        if not _earlier(s, slot, s.heap[above]):
            break
        s.heap[at] = s.heap[above]
        at = above
    s.heap[at] = slot


@lean
def remove_end(s: BatchState, length: int, slot: int) -> None:
    """Remove a job from anywhere in the heap of ends, which has `length` jobs."""
    at = 0
    while s.heap[at] != slot:
        at += 1
    while at > 0:  # up to the root, as if it ended first
        s.heap[at] = s.heap[(at - 1) // 2]
        at = (at - 1) // 2
    s.heap[0] = slot
    pop_end(s, length)


@lean
def pop_end(s: BatchState, length: int) -> int:
    """Remove the job that ends first from the heap, which has `length` jobs, and return it."""
    first, slot = s.heap[0], s.heap[length - 1]
    at, size = 0, length - 1
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        if below + 1 < size and _earlier(s, s.heap[below + 1], s.heap[below]):
            below += 1
        if not _earlier(s, s.heap[below], slot):
            break
        s.heap[at] = s.heap[below]
        at = below
    s.heap[at] = slot
    return int(first)
