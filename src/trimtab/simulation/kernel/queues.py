"""Waiting jobs: one queue, in the order of arrival, for each shape of job.

A binary tree over the shapes finds the next job to serve that fits given resources. Shapes of
similar requests stand side by side (shapes.with_shapes). An entry has the least requests of the
shapes below, and which of their first jobs is served first.
"""

from typing import Any

from trimtab.clusters.compiled import inlined, lean
from trimtab.policies.layout import LAST, NIL, KernelModel, KernelState, index


@inlined
def precedes(rank: int, job: int, other_rank: int, other_job: int) -> bool:
    """Return whether a job is served before another one."""
    return bool(rank < other_rank or (rank == other_rank and job < other_job))


@inlined
def renew(s: KernelState, number: int) -> None:
    """Update the tree of shapes with the first job of shape `number`; none, if it is aside."""
    shape = s.shapes[index(number)]
    at = shape.leaf
    entry = s.queues[index(at)]
    if shape.waiting > 0 and not shape.aside:
        entry.rank, entry.job, entry.shape = shape.rank, s.jobs[index(shape.first)].job, number
    else:
        entry.rank, entry.job, entry.shape = LAST, LAST, NIL
    at >>= 1
    while at > 0:
        left, right = s.queues[index(2 * at)], s.queues[index(2 * at + 1)]
        rank, job, first = left.rank, left.job, left.shape
        if precedes(right.rank, right.job, rank, job):
            rank, job, first = right.rank, right.job, right.shape
        entry = s.queues[index(at)]
        if entry.shape == first and entry.job == job:
            break
        entry.rank, entry.job, entry.shape = rank, job, first
        at >>= 1


@lean
def next_that_fits(
    m: KernelModel, s: KernelState, kind: int, free_cpu: int, free_gpu: int, free_memory: int
) -> int:
    """Return the shape whose first job is served next, of those that fit; or NIL.

    It runs on nodes of the type `kind`; NIL: of any.
    """
    leaves = len(s.queues) >> 1
    best, rank, job = NIL, LAST, LAST
    at, depth = 1, 0
    while True:
        entry = s.queues[index(at)]
        if (
            precedes(entry.rank, entry.job, rank, job)
            and entry.cpu <= free_cpu
            and entry.gpu <= free_gpu
            and entry.memory <= free_memory
        ):
            shape = s.shapes[index(entry.shape)]
            if fits(shape, free_cpu, free_gpu, free_memory) and (
                kind == NIL or m.sites[shape.job_class, kind].runs
            ):
                best, rank, job = entry.shape, entry.rank, entry.job
            elif at < leaves:
                left, right = s.queues[index(2 * at)], s.queues[index(2 * at + 1)]
                from_right = precedes(right.rank, right.job, left.rank, left.job)
                s.stack[index(depth)] = 2 * at if from_right else 2 * at + 1
                depth += 1
                at = 2 * at + 1 if from_right else 2 * at
                continue
        if depth == 0:
            return best
        depth -= 1
        at = s.stack[index(depth)]


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
    clock.waiting_cpu += shape.cpu
    clock.waiting_gpu += shape.gpu
    clock.waiting_memory += shape.memory
    shape.waiting += 1
    if shape.waiting == 1:
        clock.changed = 1
        s.fresh[index(clock.fresh)] = job.shape
        clock.fresh += 1
        job.before = job.after = NIL
        shape.first = shape.last = slot
        renew(s, job.shape)
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
        renew(s, job.shape)
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
    clock.waiting_cpu -= shape.cpu
    clock.waiting_gpu -= shape.gpu
    clock.waiting_memory -= shape.memory
    shape.waiting -= 1
    shape.first = s.jobs[index(shape.first)].after
    if shape.waiting > 0:
        s.jobs[index(shape.first)].before = NIL
    else:
        shape.last = NIL
    renew(s, number)


@inlined
def fits(shape: Any, free_cpu: int, free_gpu: int, free_memory: int) -> bool:
    """Return whether a job of `shape` fits the free resources."""
    return bool(shape.cpu <= free_cpu and shape.gpu <= free_gpu and shape.memory <= free_memory)
