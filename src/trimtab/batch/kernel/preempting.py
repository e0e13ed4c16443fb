"""Preemption: the first waiting job takes the nodes of running jobs of lower tiers.

As Slurm with PreemptMode=REQUEUE: those of the lowest tier first, and of these the last that
started. None is interrupted that the job does not need.
"""

from typing import Any

from trimtab.batch.kernel.interrupting import preempt
from trimtab.batch.kernel.layout import BY_PRIORITY, NIL, BatchState
from trimtab.batch.kernel.nodes import change, fit
from trimtab.clusters.compiled import lean

_STAYS, _GIVES_WAY, _CHOSEN = range(3)  # `yields` of PROGRESS


@lean
def _change_cleared(s: BatchState, slot: int, sign: int) -> None:
    """Give back (`sign` 1) or take (-1) a running job's nodes in `cleared`."""
    kind, entry = s.kinds[s.jobs[slot].kind], s.jobs[slot].first
    while entry != NIL:
        allocation = s.allocations[entry]
        change(s.cleared[allocation.node], kind, allocation.parts, allocation.gpus, sign)
        entry = allocation.next


@lean
def _clear(s: BatchState, of_type: Any, number: int) -> None:
    """Write into `cleared` what nodes of a type have once the jobs that give way have left."""
    for node in range(of_type.first_node, of_type.first_node + of_type.nodes):
        for at in range(s.free.shape[1]):
            s.cleared[node, at] = s.free[node, at]
    for at in range(s.clock[0].running):
        slot = s.running[at]
        if s.jobs[slot].type == number and s.progress[slot].yields == _GIVES_WAY:
            _change_cleared(s, slot, 1)


@lean
def _fits(s: BatchState, slot: int, of_type: Any) -> bool:
    """Return whether a waiting job fits a type's `cleared` nodes."""
    kind, left = s.kinds[s.jobs[slot].kind], s.jobs[slot].parts
    for node in range(of_type.first_node, of_type.first_node + of_type.nodes):
        if left == 0:
            break
        left -= fit(s.cleared[node], kind, left)
    return bool(left == 0)


@lean
def _next_victim(s: BatchState, tier: float, number: int) -> int:
    """Return the next job on a type to give way to a tier; NIL without any."""
    best = NIL
    for at in range(s.clock[0].running):
        slot = s.running[at]
        job, progress = s.jobs[slot], s.progress[slot]
        if job.type != number or job.tier >= tier or progress.yields or not progress.preemptable:
            continue
        if best != NIL:
            other = s.jobs[best]
            if job.tier > other.tier:
                continue
            if job.tier == other.tier and (job.start_s, slot) < (other.start_s, best):
                continue
        best = slot
    return best


@lean
def _choose(s: BatchState, slot: int, number: int) -> bool:
    """Choose the jobs of lower tiers that have to leave a type for a job; return whether it fits.

    Then `yields` of each is _CHOSEN.
    """
    of_type = s.types[number]
    _clear(s, of_type, number)
    fits = False
    while not fits:
        victim = _next_victim(s, s.jobs[slot].tier, number)
        if victim == NIL:
            break
        s.progress[victim].yields = _CHOSEN
        _change_cleared(s, victim, 1)
        fits = _fits(s, slot, of_type)
    for at in range(s.clock[0].running):
        other = s.running[at]
        if s.progress[other].yields != _CHOSEN:
            continue
        if fits:
            _change_cleared(s, other, -1)
        if not fits or _fits(s, slot, of_type):
            s.progress[other].yields = _STAYS  # not needed, or in vain
        else:
            _change_cleared(s, other, 1)
    return fits


@lean
def preempt_for(s: BatchState, slot: int) -> bool:
    """Preempt running jobs for a waiting one that has no room; return whether any was.

    None is where it has room once those have left that give way already, and while it waits for
    those that it interrupted: short jobs may run until then.
    """
    clock, kind = s.clock[0], s.jobs[slot].kind
    if clock.claimant == slot and (clock.yielding > 0 or clock.claimed_s == clock.now_s):
        return False
    most = s.preferred.shape[1]
    for rank in range(most):
        number = s.preferred[kind, rank]
        if number == NIL:
            break
        _clear(s, s.types[number], number)
        if _fits(s, slot, s.types[number]):
            return False
    for rank in range(most):
        number = s.preferred[kind, rank]
        if number == NIL:
            break
        if _choose(s, slot, number):
            at = 0
            while at < clock.running:
                other = s.running[at]
                at += 1
                if s.progress[other].yields == _CHOSEN:
                    s.progress[other].yields = _GIVES_WAY
                    clock.yielding += 1
                    preempt(s, other, BY_PRIORITY)
                    at = 0
            clock.grown = clock.shrunk = 1
            clock.claimant, clock.claimed_s = slot, clock.now_s
            return True
    return False
