"""The events of running jobs: a binary heap of jobs by their earliest event.

Each job stores its place in the heap, so its event can be moved or removed. The order is total:
time, then kind of event, then number of the job.
"""

from typing import Any

from trimtab.clusters.compiled import inlined
from trimtab.policies import layout
from trimtab.policies.layout import NIL, KernelState, index

KIND_SHIFT = 56  # of an event's kind, above the job's number


@inlined
def _set(s: KernelState, at: int, time_s: float, order: int, slot: int) -> None:
    entry = s.heap[index(at)]
    entry.time_s = time_s
    entry.order = order
    entry.slot = slot
    s.jobs[index(slot)].heap = at


@inlined
def _rise(s: KernelState, at: int, time_s: float, order: int, slot: int) -> None:
    while at > 0:
        above = (at - 1) >> 1
        entry = s.heap[index(above)]
        if entry.time_s < time_s or (entry.time_s == time_s and entry.order <= order):
            break
        _set(s, at, entry.time_s, entry.order, entry.slot)
        at = above
    _set(s, at, time_s, order, slot)


@inlined
def _sink(s: KernelState, at: int, time_s: float, order: int, slot: int) -> None:
    size = s.clock[0].in_heap
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        entry = s.heap[index(child)]
        if child + 1 < size:
            other = s.heap[index(child + 1)]
            if other.time_s < entry.time_s or (
                other.time_s == entry.time_s and other.order < entry.order
            ):
                child += 1
                entry = other
        if time_s < entry.time_s or (time_s == entry.time_s and order < entry.order):
            break
        _set(s, at, entry.time_s, entry.order, entry.slot)
        at = child
    _set(s, at, time_s, order, slot)


@inlined
def _earliest(job: Any) -> tuple[float, int]:
    """Return the time and the kind of a job's next own event."""
    time_s, kind = job.finish_s, layout.FINISH
    if job.draw_s < time_s:
        time_s, kind = job.draw_s, layout.DRAW
    if job.there_draw_s < time_s:
        time_s, kind = job.there_draw_s, layout.DRAW_THERE
    if job.switch_s < time_s:
        time_s, kind = job.switch_s, layout.SWITCH
    if job.sprint_s < time_s:
        time_s, kind = job.sprint_s, layout.SPRINT
    return time_s, kind


@inlined
def schedule(s: KernelState, slot: int) -> None:
    """Insert or move a job in the heap by its next event."""
    job = s.jobs[index(slot)]
    time_s, kind = _earliest(job)
    order = (kind << KIND_SHIFT) | job.job
    at = job.heap
    if at == NIL:
        at = s.clock[0].in_heap
        s.clock[0].in_heap += 1
        _rise(s, at, time_s, order, slot)
    elif at > 0 and time_s < s.heap[index((at - 1) >> 1)].time_s:
        _rise(s, at, time_s, order, slot)
    else:
        _set(s, at, time_s, order, slot)
        above = s.heap[index((at - 1) >> 1)] if at > 0 else s.heap[0]
        if at > 0 and above.time_s == time_s and above.order > order:
            _rise(s, at, time_s, order, slot)
        else:
            _sink(s, at, time_s, order, slot)


@inlined
def unschedule(s: KernelState, slot: int) -> None:
    """Remove a job from the heap."""
    at = s.jobs[index(slot)].heap
    s.jobs[index(slot)].heap = NIL
    clock = s.clock[0]
    clock.in_heap -= 1
    size = clock.in_heap
    if at < size:
        last = s.heap[index(size)]
        time_s, order, moved = last.time_s, last.order, last.slot
        if at > 0:
            above = s.heap[index((at - 1) >> 1)]
            if time_s < above.time_s or (time_s == above.time_s and order < above.order):
                _rise(s, at, time_s, order, moved)
                return
        _sink(s, at, time_s, order, moved)
