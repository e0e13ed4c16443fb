"""Waiting jobs: one queue, in the order of arrival, for each shape of job."""

from typing import Any

from trimtab.clusters.compiled import inlined
from trimtab.policies.layout import NIL, KernelState, index


@inlined
def join(s: KernelState, slot: int) -> None:
    """Put a job into the queue of its shape, ordered by number.

    A new job goes to the end, without effect on those before it. An evicted job came before those
    that never ran, so its place is searched from the head.
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
        job.before = job.after = NIL
        shape.first = shape.last = slot
        return
    if s.jobs[index(shape.last)].job < job.job:
        before, after = shape.last, NIL
    else:
        clock.changed = 1
        after = shape.first
        while s.jobs[index(after)].job < job.job:
            after = s.jobs[index(after)].after
        before = s.jobs[index(after)].before
    job.before, job.after = before, after
    if before == NIL:
        shape.first = slot
    else:
        s.jobs[index(before)].after = slot
    if after == NIL:
        shape.last = slot
    else:
        s.jobs[index(after)].before = slot


@inlined
def leave_head(s: KernelState, number: int) -> None:
    """Remove the first job from the queue of shape `number`."""
    shape = s.shapes[index(number)]
    clock = s.clock[0]
    clock.pending -= 1
    shape.waiting -= 1
    shape.first = s.jobs[index(shape.first)].after
    if shape.waiting > 0:
        s.jobs[index(shape.first)].before = NIL
        return
    shape.last = NIL
    clock.actives -= 1
    moved = s.active[index(clock.actives)]
    s.active[index(shape.active)] = moved
    s.shapes[index(moved)].active = shape.active


@inlined
def next_shape(s: KernelState, by_priority: int, head_of_line: int) -> int:
    """Return the shape whose first job is next; NIL: no waiting job can have room.

    Highest priority first, if `by_priority`, then by number. With `head_of_line`, only the first
    job of all is considered.
    """
    best = NIL
    best_priority = best_job = 0
    for at in range(s.clock[0].actives):
        number = s.active[index(at)]
        shape = s.shapes[index(number)]
        if shape.blocked and not head_of_line:
            continue
        priority = shape.priority if by_priority else 0
        if best != NIL and priority < best_priority:
            continue
        job = s.jobs[index(shape.first)].job
        if best == NIL or priority > best_priority or job < best_job:
            best, best_priority, best_job = number, priority, job
    if best != NIL and s.shapes[index(best)].blocked:
        return NIL
    return best


@inlined
def fits(shape: Any, free_cpu: int, free_gpu: int, free_memory: int) -> bool:
    """Return whether a job of `shape` fits the free resources."""
    return bool(shape.cpu <= free_cpu and shape.gpu <= free_gpu and shape.memory <= free_memory)


@inlined
def unblock(s: KernelState, node: Any) -> None:
    """Unblock the waiting jobs that fit `node`, where resources were freed."""
    clock = s.clock[0]
    clock.changed = 1
    for at in range(clock.actives):
        shape = s.shapes[index(s.active[index(at)])]
        if shape.blocked and fits(shape, node.free_cpu, node.free_gpu, node.free_memory):
            shape.blocked = 0
