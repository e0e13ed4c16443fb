"""Waiting jobs: one queue, in the order of arrival, for each shape of job."""

from typing import Any

from trimtab.clusters.compiled import inlined
from trimtab.clusters.layout import NOBODY, State, index


@inlined
def join(s: State, slot: int) -> None:
    """Put a job into the queue of its shape at its place by number.

    A new job goes to the end, where it changes nothing for those before it; one that was evicted
    came before those that never ran, so its place is found from the head.
    """
    job = s.jobs[index(slot)]
    shape = s.shapes[index(job.shape)]
    clock = s.clock[0]
    clock.pending += 1
    shape.waiting += 1
    if shape.waiting == 1:
        shape.blocked = 0
        clock.changed = 1
        shape.active = clock.actives
        s.active[index(clock.actives)] = job.shape
        clock.actives += 1
        job.before = job.after = NOBODY
        shape.first = shape.last = slot
        return
    if s.jobs[index(shape.last)].job < job.job:
        before, after = shape.last, NOBODY
    else:
        clock.changed = 1
        after = shape.first
        while s.jobs[index(after)].job < job.job:
            after = s.jobs[index(after)].after
        before = s.jobs[index(after)].before
    job.before, job.after = before, after
    if before == NOBODY:
        shape.first = slot
    else:
        s.jobs[index(before)].after = slot
    if after == NOBODY:
        shape.last = slot
    else:
        s.jobs[index(after)].before = slot


@inlined
def leave_head(s: State, number: int) -> None:
    """Take the first job out of the queue of shape `number`."""
    shape = s.shapes[index(number)]
    clock = s.clock[0]
    clock.pending -= 1
    shape.waiting -= 1
    shape.first = s.jobs[index(shape.first)].after
    if shape.waiting > 0:
        s.jobs[index(shape.first)].before = NOBODY
        return
    shape.last = NOBODY
    clock.actives -= 1
    moved = s.active[index(clock.actives)]
    s.active[index(shape.active)] = moved
    s.shapes[index(moved)].active = shape.active


@inlined
def next_shape(s: State, by_priority: int, head_of_line: int) -> int:
    """Return the shape whose first job is next; NOBODY: nothing that waits can have room.

    Highest priority first, if `by_priority`, then by number. With `head_of_line` only the very
    first of all is looked at.
    """
    best = NOBODY
    best_priority = best_job = 0
    for at in range(s.clock[0].actives):
        number = s.active[index(at)]
        shape = s.shapes[index(number)]
        if shape.blocked and not head_of_line:
            continue
        priority = shape.priority if by_priority else 0
        if best != NOBODY and priority < best_priority:
            continue
        job = s.jobs[index(shape.first)].job
        if best == NOBODY or priority > best_priority or job < best_job:
            best, best_priority, best_job = number, priority, job
    if best != NOBODY and s.shapes[index(best)].blocked:
        return NOBODY
    return best


@inlined
def fits(shape: Any, free_cpu: int, free_gpu: int, free_memory: int) -> bool:
    """Return whether a job of `shape` has room in what is free."""
    return bool(shape.cpu <= free_cpu and shape.gpu <= free_gpu and shape.memory <= free_memory)


@inlined
def unblock(s: State, node: Any) -> None:
    """Have the waiting jobs tried again that `node`, where something was freed, has room for."""
    clock = s.clock[0]
    clock.changed = 1
    for at in range(clock.actives):
        shape = s.shapes[index(s.active[index(at)])]
        if shape.blocked and fits(shape, node.free_cpu, node.free_gpu, node.free_memory):
            shape.blocked = 0
