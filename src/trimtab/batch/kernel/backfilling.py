"""The search for waiting jobs that start now: without backfilling, with any, and EASY's."""

from typing import Any

from trimtab.batch.kernel.layout import NIL, BatchState, index
from trimtab.batch.kernel.lists import remove, waiting_place
from trimtab.batch.kernel.nodes import begin_sweep, end_sweep
from trimtab.batch.kernel.power import has_power, is_capped, planned_mw
from trimtab.batch.kernel.reservation import reserve
from trimtab.batch.kernel.starting import has_space, longest_s, start_on
from trimtab.batch.kernel.widths import is_moldable, widen
from trimtab.clusters.compiled import inlined, lean

NONE, ANY, EASY, CONSERVATIVE = range(4)  # as policies.base.Backfill


@inlined
def _lasts(s: BatchState, slot: int, number: int, any_fit: bool) -> bool:
    """Return whether a job may last beyond the time of the first waiting job's reservation."""
    clock = s.clock[0]
    return bool(not any_fit and clock.now_s + longest_s(s, slot, number) > clock.shadow_s)


@inlined
def _try_type(s: BatchState, slot: int, number: int, row: Any, any_fit: bool) -> bool:
    """Start a job on a type, at its width."""
    clock = s.clock[0]
    capped, reserved = is_capped(s), number == clock.shadow_type
    lasts = (reserved or capped) and _lasts(s, slot, number, any_fit)
    if capped and not has_power(s, slot, number, lasts):
        return False
    if not start_on(s, slot, number, row, lasts and reserved):
        return False
    if capped and lasts:
        clock.later_mw -= planned_mw(s, slot, number)
    return True


@lean
def _try_widths(s: BatchState, slot: int, number: int, row: Any, any_fit: bool) -> bool:
    """Start a moldable job on a type, at the best width or else the least."""
    job, clock = s.jobs[slot], s.clock[0]
    widen(s, slot, number, row, False)
    if number == clock.shadow_type and _lasts(s, slot, number, any_fit):
        widen(s, slot, number, row, True)
    for _ in range(2):
        if _try_type(s, slot, number, row, any_fit):
            return True
        job.parts = job.least_parts
    return False


@inlined
def _try(s: BatchState, slot: int, row: Any, any_fit: bool) -> bool:
    """Start a job that has room, and unless `any_fit` does not delay the first waiting job."""
    job = s.jobs[index(slot)]
    for rank in range(s.preferred.shape[1]):
        number = s.preferred[index(job.kind), index(rank)]
        if number == NIL:
            return False
        if is_moldable(job):
            if _try_widths(s, slot, number, row, any_fit):
                return True
        elif _try_type(s, slot, number, row, any_fit):
            return True
    return False


@lean
def _try_one(s: BatchState, slot: int, row: Any, any_fit: bool) -> bool:
    return bool(_try(s, slot, row, any_fit))


@inlined
def _free_cores(s: BatchState) -> bool:
    free = False
    for number in range(len(s.types)):
        free |= s.types[number].cpu > 0
    return free


@lean
def start_in_order(s: BatchState, row: Any) -> bool:
    """Start waiting jobs in order until one has no room; return whether space sufficed."""
    clock = s.clock[0]
    started = 0
    enough = True
    while started < clock.waiting:
        slot = s.waiting[started]
        enough = has_space(s, slot)
        if not enough or not _try_one(s, slot, row, True):
            break
        started += 1
    if started > 0:
        clock.waiting -= started
        for at in range(clock.waiting):
            s.waiting[at] = s.waiting[at + started]
    return enough


@inlined
def _is_hopeless(s: BatchState, job: Any) -> bool:
    """Return whether no changed node has room for a part of a job that had none before."""
    clock, kind = s.clock[0], s.kinds[index(job.kind)]
    return bool(
        kind.cpu > clock.most_cpu or kind.memory > clock.most_memory or kind.gpu > clock.most_gpu
    )


@lean
def _start_any(s: BatchState, first: int, row: Any) -> bool:
    """Try all waiting jobs from the place `first` on; return whether space sufficed."""
    clock = s.clock[0]
    kept, enough = first, True
    begin_sweep(s)
    possible = _free_cores(s)
    for at in range(first, clock.waiting):
        slot = s.waiting[at]
        job = s.jobs[index(slot)]
        if not possible:
            job.tried = 0
        elif enough and not (job.tried and _is_hopeless(s, job)):
            enough = has_space(s, slot)
            if enough and _try(s, slot, row, clock.backfill == ANY):
                possible = _free_cores(s)
                continue
            job.tried = enough and not is_capped(s)  # else power may be what it lacks
        s.waiting[kept] = slot
        kept += 1
    clock.waiting = kept
    return enough


@lean
def _start_fresh(s: BatchState, row: Any) -> bool:
    """Try the jobs submitted since the last search; return whether space sufficed."""
    clock = s.clock[0]
    for at in range(clock.fresh):
        slot = s.fresh[at]
        if not has_space(s, slot):
            return False
        place = waiting_place(s, s.waiting, clock.waiting, slot)
        if (
            place < clock.waiting
            and s.waiting[place] == slot
            and (_try_one(s, slot, row, clock.backfill == ANY))
        ):
            remove(s.waiting, clock.waiting, place)
            clock.waiting -= 1
    return True


@lean
def start_waiting(s: BatchState, row: Any) -> bool:
    """Start the waiting jobs that may start now; return whether space sufficed.

    Where nothing was freed since the last search, only jobs submitted meanwhile can start: room
    only shrank, and so did what the first job's reservation leaves.
    """
    clock = s.clock[0]
    enough, swept = True, clock.grown
    if clock.backfill != ANY:
        enough = start_in_order(s, row)
    if enough and clock.waiting > 0:
        if clock.backfill == ANY:
            enough = _start_any(s, 0, row) if clock.grown else _start_fresh(s, row)
        elif clock.backfill == EASY:
            head = s.waiting[0]
            if clock.grown or clock.head != head:
                reserve(s, head)
                clock.head, swept = head, 1
                enough = _start_any(s, 1, row)
            else:
                enough = _start_fresh(s, row)
    if not enough:
        clock.grown = 1  # all are tried again
        return False
    if swept:
        end_sweep(s)
    clock.grown = clock.fresh = 0
    if clock.waiting == 0:
        clock.head = NIL
    return True
