"""EASY's reservation: when and where the first waiting job gets its nodes by the estimates."""

import math
from typing import Any

from trimtab.batch.kernel.layout import CPU, NIL, BatchState, index
from trimtab.batch.kernel.nodes import change, choose_gpus, fit, note_change
from trimtab.batch.kernel.power import is_capped, planned_mw, reserve_power
from trimtab.clusters.compiled import lean


@lean
def _release_later(s: BatchState, slot: int, parts_of: Any, most: int) -> int:
    """Free a running job's nodes in `later`; return how many more parts of `parts_of` fit."""
    job = s.jobs[slot]
    kind = s.kinds[job.kind]
    more = 0
    entry = job.first
    while entry != NIL:
        allocation = s.allocations[entry]
        row = s.later[allocation.node]
        more -= fit(row, parts_of, most)
        change(row, kind, allocation.parts, allocation.gpus, 1)
        more += fit(row, parts_of, most)
        entry = allocation.next
    return more


@lean
def _foresee(s: BatchState, slot: int, number: int, before_s: float) -> float:
    """Return when a job gets nodes of a type; then `later` has what is free at that time.

    Infinite if not before `before_s`.
    """
    job, of_type = s.jobs[slot], s.types[number]
    kind = s.kinds[job.kind]
    begin, end = of_type.first_node, of_type.first_node + of_type.nodes
    for node in range(begin, end):
        for at in range(s.free.shape[1]):
            s.later[index(node), index(at)] = s.free[index(node), index(at)]
    fitting = 0
    for node in range(of_type.lowest, end):
        if s.free[index(node), index(CPU)] >= kind.cpu:
            fitting += fit(s.free[index(node)], kind, job.parts)
    missing_mw = planned_mw(s, slot, number) + s.clock[0].held_mw - s.clock[0].cap_mw
    at_s = s.clock[0].now_s if fitting >= job.parts and missing_mw <= 0 else math.inf
    for at in range(s.clock[0].running):
        running = s.jobs[s.running[at]]
        if running.ends_s > at_s or running.ends_s >= before_s:
            break
        missing_mw -= running.held_mw
        if running.type == number:
            fitting += _release_later(s, s.running[at], kind, job.parts)
        if fitting >= job.parts and missing_mw <= 0:
            at_s = min(at_s, running.ends_s)
    return at_s


@lean
def _take_later(s: BatchState, slot: int, number: int) -> None:
    """Take a job's nodes in `later`: first those that have less room now."""
    job, of_type = s.jobs[slot], s.types[number]
    kind = s.kinds[job.kind]
    left = job.parts
    for anywhere in range(2):
        for node in range(of_type.first_node, of_type.first_node + of_type.nodes):
            if left == 0:
                return
            cores = s.later[index(node), index(CPU)]
            if cores < kind.cpu or (not anywhere and cores == s.free[index(node), index(CPU)]):
                continue
            if kind.distinct and s.nodes[node].reserved:
                continue
            fitting = fit(s.later[index(node)], kind, left)
            if fitting == 0 or (not anywhere and fitting <= fit(s.free[index(node)], kind, left)):
                continue
            for _ in range(fitting):
                change(s.later[node], kind, 1, choose_gpus(s.later[node], kind, 1), -1)
            left -= fitting
            if not s.nodes[node].reserved:
                s.nodes[node].reserved = 1
                s.reserved[s.clock[0].reserved] = node
                s.clock[0].reserved += 1


@lean
def reserve(s: BatchState, slot: int) -> None:
    """Reserve nodes of the type that has them first; ties: the preferred one."""
    clock = s.clock[0]
    kind = s.jobs[slot].kind
    for at in range(clock.reserved):  # the reservation before gives them back
        note_change(s, s.reserved[at])
        s.nodes[s.reserved[at]].reserved = 0
    if clock.reserved > 0:
        s.types[clock.shadow_type].version += 1
    clock.reserved = 0
    clock.shadow_s, clock.shadow_type = math.inf, NIL
    last = NIL
    for rank in range(s.preferred.shape[1]):
        number = s.preferred[kind, rank]
        if number == NIL:
            break
        at_s = _foresee(s, slot, number, clock.shadow_s)
        last = number
        if at_s < clock.shadow_s:
            clock.shadow_s, clock.shadow_type = at_s, number
    if clock.shadow_type != NIL:
        if last != clock.shadow_type:
            _foresee(s, slot, clock.shadow_type, math.inf)
        _take_later(s, slot, clock.shadow_type)
        if is_capped(s):
            reserve_power(s, slot)
