"""Conservative backfilling: each waiting job has a reservation in a profile of free resources.

The profile has, for each node type, what is free on its nodes together, by time, and one more has
the power below the cap. A moldable job has the width that ends first. A reserved job
whose nodes are too fragmented at its time waits for the next end of a job.
"""

import math
from typing import Any

from trimtab.batch.kernel.layout import NIL, BatchState
from trimtab.batch.kernel.power import has_power, is_capped, planned_mw
from trimtab.batch.kernel.starting import has_space, longest_s, start_on
from trimtab.batch.kernel.widths import is_moldable, next_width
from trimtab.clusters.compiled import inlined, lean


@lean
def _breakpoint(s: BatchState, number: int, at_s: float) -> int:
    """Return the step of a type's profile that begins at a time, which is added if missing."""
    profile, steps = s.profile[number], s.steps
    length = steps[number]
    low, high = 0, length
    while low < high:
        middle = (low + high) // 2
        if profile[middle].at_s < at_s:
            low = middle + 1
        else:
            high = middle
    if low < length and profile[low].at_s == at_s:
        return low
    for place in range(length, low, -1):
        profile[place] = profile[place - 1]
    profile[low] = profile[low - 1]
    profile[low].at_s = at_s
    steps[number] = length + 1
    return low


@lean
def _change(s: BatchState, slot: int, number: int, begin_s: float, end_s: float, sign: int) -> None:
    """Add (`sign` 1) or subtract a job's demands on a type from one time to another."""
    if not end_s > begin_s:
        return
    job = s.jobs[slot]
    kind = s.kinds[job.kind]
    begin, end = _breakpoint(s, number, begin_s), _breakpoint(s, number, end_s)
    for at in range(begin, end):
        step = s.profile[number, at]
        step.cpu += sign * job.parts * kind.cpu
        step.memory += sign * job.parts * kind.memory
        step.gpu += sign * job.parts * kind.gpu
    if is_capped(s):
        number = len(s.types)
        begin, end = _breakpoint(s, number, begin_s), _breakpoint(s, number, end_s)
        for at in range(begin, end):
            s.profile[number, at].power += sign * job.held_mw


@lean
def _forget_past(s: BatchState, number: int) -> None:
    """Remove steps of a type's profile that are over, and join equal neighbours."""
    profile, length, now_s = s.profile[number], s.steps[number], s.clock[0].now_s
    kept = 0
    for at in range(1, length):
        step, last = profile[at], profile[kept]
        same = step.cpu == last.cpu and step.memory == last.memory and step.gpu == last.gpu
        same &= step.power == last.power
        if same:
            continue
        if step.at_s > now_s:
            kept += 1
        profile[kept] = profile[at]
    s.steps[number] = kept + 1


@lean
def _earliest(s: BatchState, slot: int, number: int) -> float:
    """Return the earliest time from now on at which a type has room for a job to its end.

    With a cap, there is also the power.
    """
    at_s = _earliest_room(s, slot, number, s.clock[0].now_s)
    while is_capped(s) and at_s < math.inf:
        powered_s = _earliest_power(s, slot, number, at_s)
        if powered_s == at_s:
            break
        at_s = _earliest_room(s, slot, number, powered_s)
    return at_s


@lean
def _earliest_power(s: BatchState, slot: int, number: int, begin_s: float) -> float:
    """Return the earliest time from `begin_s` on with power for a job on a type, to its end."""
    profile, length = s.profile[len(s.types)], s.steps[len(s.types)]
    needed_mw, duration_s = planned_mw(s, slot, number), longest_s(s, slot, number)
    at = 0
    while at + 1 < length and profile[at + 1].at_s <= begin_s:
        at += 1
    first = at
    while at < length and (at == first or profile[at].at_s < begin_s + duration_s):
        if profile[at].power < needed_mw:
            if at + 1 == length:
                return math.inf
            first = at + 1
            begin_s = profile[first].at_s
        at += 1
    return float(begin_s)


@lean
def _earliest_room(s: BatchState, slot: int, number: int, begin_s: float) -> float:
    """Return the earliest time from `begin_s` on at which a type has room for a job to its end."""
    job = s.jobs[slot]
    kind, profile, length = s.kinds[job.kind], s.profile[number], s.steps[number]
    duration_s = longest_s(s, slot, number)
    at = 0
    while at + 1 < length and profile[at + 1].at_s <= begin_s:
        at += 1
    first = at
    while at < length and (at == first or profile[at].at_s < begin_s + duration_s):
        step = profile[at]
        if (
            step.cpu < job.parts * kind.cpu
            or step.memory < job.parts * kind.memory
            or step.gpu < job.parts * kind.gpu
        ):
            if at + 1 == length:
                return math.inf
            first = at + 1
            begin_s = profile[first].at_s
        at += 1
    return float(begin_s)


@lean
def _plan(s: BatchState, slot: int) -> None:
    """Reserve a job's earliest place; a moldable job's place that ends first."""
    job = s.jobs[slot]
    best, best_s, parts = job.least_parts, math.inf, job.least_parts
    while parts != NIL and is_moldable(job):
        job.parts = parts
        _find_place(s, slot)
        if job.planned_type != NIL:
            end_s = job.planned_s + longest_s(s, slot, job.planned_type)
            if end_s < best_s:
                best, best_s = parts, end_s
        parts = next_width(job, parts)
    job.parts = best
    _find_place(s, slot)
    if job.planned_type != NIL:
        job.held_mw = planned_mw(s, slot, job.planned_type)
        _change_plan(s, slot, job.planned_s, -1)


@lean
def _find_place(s: BatchState, slot: int) -> None:
    """Find a job's earliest place at its width; ties: the preferred node type."""
    job = s.jobs[slot]
    job.planned_s, job.planned_type = math.inf, NIL
    for rank in range(s.preferred.shape[1]):
        number = s.preferred[job.kind, rank]
        if number == NIL:
            break
        if job.parts > s.sites[job.kind, number].most_parts:
            continue
        at_s = _earliest(s, slot, number)
        if at_s < job.planned_s:
            job.planned_s, job.planned_type = at_s, number


@lean
def _change_plan(s: BatchState, slot: int, from_s: float, sign: int) -> None:
    """Add or subtract a job's reservation from a time on."""
    job = s.jobs[slot]
    ends_s = job.planned_s + longest_s(s, slot, job.planned_type)
    _change(s, slot, job.planned_type, from_s, ends_s, sign)


@lean
def give_back_plan(s: BatchState, slot: int) -> None:
    """Free in the profile what a job that has ended early had until the end of its estimate."""
    job = s.jobs[slot]
    _change(s, slot, job.type, s.clock[0].now_s, job.ends_s, 1)


@lean
def take_plan(s: BatchState, slot: int) -> None:
    """Take in the profile what a job has from now to its estimated end."""
    job = s.jobs[slot]
    _change(s, slot, job.type, s.clock[0].now_s, job.ends_s, -1)


@lean
def _plan_again(s: BatchState) -> None:
    """Renew all reservations in order.

    One after the other, as none is later then. But where nodes were lost, or a job found only
    fragments at its time, all are taken out first: else it would come behind all others.
    """
    clock = s.clock[0]
    late = bool(clock.shrunk)
    clock.shrunk = 0
    for at in range(clock.waiting):
        job = s.jobs[s.waiting[at]]
        late |= job.planned_type != NIL and job.planned_s < clock.now_s
    for at in range(clock.waiting):
        slot = s.waiting[at]
        if s.jobs[slot].planned_type != NIL:
            _change_plan(s, slot, max(clock.now_s, s.jobs[slot].planned_s), 1)
            if not late:
                _plan(s, slot)
    if late:
        for at in range(clock.waiting):
            slot = s.waiting[at]
            if s.jobs[slot].planned_type != NIL:
                _plan(s, slot)


@lean
def start_planned(s: BatchState, row: Any) -> bool:
    """Start the waiting jobs whose time has come; return whether space sufficed.

    Where a job ended, all reservations are renewed.
    """
    clock = s.clock[0]
    if clock.grown:
        for number in range(len(s.steps)):
            _forget_past(s, number)
        _plan_again(s)
        clock.grown = 0
    for at in range(clock.fresh):
        _plan(s, s.fresh[at])
    clock.fresh = 0
    kept, enough = 0, True
    for at in range(clock.waiting):
        slot = s.waiting[at]
        if enough and s.jobs[slot].planned_s <= clock.now_s:
            enough = has_space(s, slot)
            if enough and _start_planned(s, slot, row):
                continue
        s.waiting[kept] = slot
        kept += 1
    clock.waiting = kept
    return enough


@lean
def next_planned_s(s: BatchState) -> float:
    """Return the next time at which a reservation begins."""
    at_s = math.inf
    for at in range(s.clock[0].waiting):
        planned_s = s.jobs[s.waiting[at]].planned_s
        if s.clock[0].now_s < planned_s < at_s:
            at_s = planned_s
    return float(at_s)


@inlined
def _start_powered(s: BatchState, slot: int, number: int, row: Any) -> bool:
    """Start a job on a type if it has power and room."""
    if is_capped(s) and not has_power(s, slot, number, False):
        return False
    return bool(start_on(s, slot, number, row, False))


@lean
def _start_planned(s: BatchState, slot: int, row: Any) -> bool:
    """Start a job whose time has come, on another type if it finds only fragments on its own."""
    job, now_s = s.jobs[slot], s.clock[0].now_s
    planned = job.held_mw
    started = _start_powered(s, slot, job.planned_type, row)
    if not started:
        for rank in range(s.preferred.shape[1]):
            number = s.preferred[job.kind, rank]
            if number == NIL:
                break
            if number == job.planned_type or job.parts > s.sites[job.kind, number].most_parts:
                continue
            if _earliest(s, slot, number) <= now_s and _start_powered(s, slot, number, row):
                started = True
                break
    # The profile has it at another time or on another type, or with time to wake up.
    if started and (
        job.planned_s < now_s
        or job.type != job.planned_type
        or job.ends_s < now_s + longest_s(s, slot, job.type)
        or job.held_mw != planned
    ):
        drawn, job.held_mw = job.held_mw, planned
        _change_plan(s, slot, now_s, 1)
        job.held_mw = drawn
        _change(s, slot, job.type, now_s, job.ends_s, -1)
    return started
