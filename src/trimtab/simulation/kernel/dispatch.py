"""Places waiting jobs, in their order, while there is room.

Before, no waiting job has room, except on nodes that got room since then, and those of shapes that
have just begun to wait. So only these are tried. After many changes, or where jobs evict others or
block those behind, every shape is tried.
"""

from typing import Any

from trimtab.clusters.compiled import inlined, lean
from trimtab.policies import layout
from trimtab.policies.layout import LAST, NIL, KernelModel, KernelOutput, KernelState, index
from trimtab.simulation.kernel.gpus import free_gpu
from trimtab.simulation.kernel.places import place
from trimtab.simulation.kernel.queues import fits, leave_head, next_that_fits, precedes, renew
from trimtab.simulation.kernel.running import evict, resolved, start

_MANY = 8
_UNKNOWN = NIL - 1


@inlined
def dispatch(m: KernelModel, s: KernelState, out: KernelOutput) -> None:
    """Place waiting jobs, in their order, while there is room."""
    rules, clock = m.rules[0], s.clock[0]
    if clock.pending > 0:
        many = clock.fresh > _MANY or clock.freed > len(s.queues) >> 1  # more nodes than shapes
        if rules.evicts or rules.head_of_line or many:
            _try_all(m, s, out)
        else:
            _try_changed(m, s)
    for at in range(clock.freed):
        s.nodes[index(s.freed[index(at)])].freed = 0
    clock.freed = clock.fresh = clock.changed = 0


@inlined
def _start_first(m: KernelModel, s: KernelState, number: int, node: int, level: int) -> None:
    slot = s.shapes[index(number)].first
    leave_head(s, number)
    start(m, s, slot, node, level)


@inlined
def _try_changed(m: KernelModel, s: KernelState) -> None:
    """Place jobs of new shapes anywhere, and others on freed nodes."""
    clock = s.clock[0]
    if clock.fresh == 0 and clock.freed == 1:
        _serve(m, s, s.freed[0])
        return
    for at in range(clock.freed):
        s.served[at, 0] = _UNKNOWN
    while True:
        at = _first_fresh(s)
        number = _next_on_freed(m, s) if clock.freed > 0 else NIL
        if at != NIL:
            fresh = s.fresh[index(at)]
            if number == NIL or fresh == number or _before(s, fresh, number):
                number = fresh
        if number == NIL:
            return
        node, level = place(m, s, number)
        if node != NIL:
            _start_first(m, s, number, node, level)
        else:
            clock.fresh -= 1
            s.fresh[index(at)] = s.fresh[index(clock.fresh)]


@inlined
def _serve(m: KernelModel, s: KernelState, node_number: int) -> None:
    """Place jobs on a freed node: no other one has room for a waiting job."""
    node = s.nodes[index(node_number)]
    first_fit = m.rules[0].placement == layout.FIRST_FIT
    while node.up and s.clock[0].pending > 0:
        number = next_that_fits(m, s, node.type, node.free_cpu, node.largest_gpu, node.free_memory)
        if number == NIL:
            return
        if first_fit:
            chosen, level = node_number, resolved(m, node.type, m.rules[0].level)
        else:
            chosen, level = place(m, s, number)
        _start_first(m, s, number, chosen, level)


@inlined
def _before(s: KernelState, number: int, other: int) -> bool:
    one, two = s.shapes[index(number)], s.shapes[index(other)]
    job, other_job = s.jobs[index(one.first)].job, s.jobs[index(two.first)].job
    return precedes(one.rank, job, two.rank, other_job)


@inlined
def _first_fresh(s: KernelState) -> int:
    """Return the place in the list of the new shape that is served first; or NIL."""
    clock = s.clock[0]
    best, at = NIL, 0
    while at < clock.fresh:
        number = s.fresh[index(at)]
        if s.shapes[index(number)].waiting == 0:
            clock.fresh -= 1
            s.fresh[index(at)] = s.fresh[index(clock.fresh)]
            continue
        if best == NIL or _before(s, number, s.fresh[index(best)]):
            best = at
        at += 1
    return best


@inlined
def _has_room(m: KernelModel, shape: Any, node: Any) -> bool:
    return bool(
        node.up
        and fits(shape, node.free_cpu, node.largest_gpu, node.free_memory)
        and m.sites[shape.job_class, node.type].runs
    )


@lean
def _next_on_freed(m: KernelModel, s: KernelState) -> int:
    """Return the shape whose first job is served next, of those that fit a freed node; or NIL."""
    count = s.clock[0].freed
    cpu = gpu = memory = NIL
    for at in range(count):
        node = s.nodes[index(s.freed[index(at)])]
        if node.up:
            cpu, gpu = max(cpu, node.free_cpu), max(gpu, node.largest_gpu)
            memory = max(memory, node.free_memory)
    number = next_that_fits(m, s, NIL, cpu, gpu, memory)
    if number == NIL:
        return NIL
    shape = s.shapes[index(number)]
    for at in range(count):
        if _has_room(m, shape, s.nodes[index(s.freed[index(at)])]):
            return int(number)
    # It takes the most of several nodes: what fits each of them. Room only shrinks meanwhile, so
    # what is known of a node holds until it takes that job, or another takes its room.
    best, rank, job = NIL, LAST, LAST
    for at in range(count):
        node = s.nodes[index(s.freed[index(at)])]
        number = s.served[at, 0]
        if not node.up or number == NIL:
            continue
        if number == _UNKNOWN or not _still_first(m, s, number, s.served[at, 1], node):
            number = next_that_fits(
                m, s, node.type, node.free_cpu, node.largest_gpu, node.free_memory
            )
            s.served[at, 0] = number
            if number == NIL:
                continue
            s.served[at, 1] = s.jobs[index(s.shapes[index(number)].first)].job
        shape = s.shapes[index(number)]
        if precedes(shape.rank, s.served[at, 1], rank, job):
            best, rank, job = number, shape.rank, s.served[at, 1]
    return int(best)


@inlined
def _still_first(m: KernelModel, s: KernelState, number: int, job: int, node: Any) -> bool:
    shape = s.shapes[index(number)]
    waits = shape.waiting > 0 and s.jobs[index(shape.first)].job == job
    return bool(waits and _has_room(m, shape, node))


@lean
def _try_all(m: KernelModel, s: KernelState, out: KernelOutput) -> None:
    """Try the first job of every shape, and the next ones after each start."""
    rules, clock = m.rules[0], s.clock[0]
    aside = 0
    while True:
        clock.fresh = 0
        number = s.queues[1].shape
        if not (rules.evicts or rules.head_of_line):
            number = _next_with_room(m, s)
        if number == NIL:
            break
        node, level = place(m, s, number)
        if node == NIL and rules.evicts:
            victim = _victim(m, s, s.shapes[index(number)])
            if victim != NIL:
                evict(m, s, out, victim, layout.EVICTED)
                node, level = place(m, s, number)
        if node != NIL:
            _start_first(m, s, number, node, level)
        elif rules.head_of_line:
            break
        else:
            s.shapes[index(number)].aside = 1
            renew(s, number)
            s.aside[index(aside)] = number
            aside += 1
    for at in range(aside):
        s.shapes[index(s.aside[index(at)])].aside = 0
        renew(s, s.aside[index(at)])


@lean
def _next_with_room(m: KernelModel, s: KernelState) -> int:
    """Return the shape served next, of those that fit the most free resources; or NIL."""
    cpu = gpu = memory = NIL
    for kind in range(len(m.kinds)):
        free = s.tree[index(m.kinds[index(kind)].tree + 1)]
        cpu, gpu, memory = max(cpu, free.cpu), max(gpu, free.gpu), max(memory, free.memory)
    return next_that_fits(m, s, NIL, cpu, gpu, memory)


@lean
def _victim(m: KernelModel, s: KernelState, shape: Any) -> int:
    """Return the job to evict for `shape`, whose eviction makes room; or NIL.

    It has the lowest priority, below the new job's; among equals, the latest start.
    """
    victim, lowest = NIL, shape.priority
    slot = s.clock[0].last_running
    while slot != NIL:
        job = s.jobs[index(slot)]
        theirs = s.shapes[index(job.shape)]
        if theirs.priority < lowest:
            node, gpu = s.nodes[index(job.node)], 0
            if shape.gpu > 0:
                _, gpu = free_gpu(m, s, job.node, job.gpus, theirs.gpu)
            cpu, memory = node.free_cpu + theirs.cpu, node.free_memory + theirs.memory
            if m.sites[shape.job_class, node.type].runs and fits(shape, cpu, gpu, memory):
                victim, lowest = slot, theirs.priority
        slot = job.before
    return victim
