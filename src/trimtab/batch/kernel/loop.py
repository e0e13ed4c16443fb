"""The event loop: ends and submissions of one instant, then the starts.

A job whose order is asked again in intervals takes the loop back to its caller.
"""

import math
from typing import Any

from trimtab.batch.kernel.backfilling import CONSERVATIVE, start_waiting
from trimtab.batch.kernel.interrupting import finish_leaving, give_back
from trimtab.batch.kernel.layout import (
    DONE,
    GO_ON,
    NEED_ORDER,
    NEED_SPACE,
    NIL,
    NODE_RECLAIMED,
    STUCK,
    BatchState,
)
from trimtab.batch.kernel.lists import insert, waiting_place
from trimtab.batch.kernel.power import is_capped
from trimtab.batch.kernel.profile import give_back_plan, next_planned_s, start_planned
from trimtab.batch.kernel.rounds import start_assigned
from trimtab.batch.kernel.sleeping import fall_asleep, next_sleep_s
from trimtab.batch.kernel.starting import end_first
from trimtab.clusters.compiled import lean


@lean
def _submit(s: BatchState, slot: int) -> None:
    clock = s.clock[0]
    s.jobs[slot].planned_type = NIL
    insert(s.waiting, clock.waiting, waiting_place(s, s.waiting, clock.waiting, slot), slot)
    clock.waiting += 1
    insert(s.fresh, clock.fresh, waiting_place(s, s.fresh, clock.fresh, slot), slot)
    clock.fresh += 1


@lean
def _end(s: BatchState) -> None:
    if s.progress[s.heap[0]].leaving:
        finish_leaving(s, s.heap[0])
        return
    slot = end_first(s)
    if slot < s.clock[0].submissions:
        s.clock[0].unfinished -= 1
    else:
        give_back(s, slot)
    if s.clock[0].backfill == CONSERVATIVE and s.jobs[slot].end_s < s.jobs[slot].ends_s:
        give_back_plan(s, slot)


@lean
def _next_s(s: BatchState) -> float:
    """Return the time of the next event."""
    clock = s.clock[0]
    at_s = math.inf
    if clock.running > 0:
        at_s = s.jobs[s.heap[0]].end_s
    if clock.arrived < clock.submissions:
        at_s = min(at_s, s.jobs[clock.arrived].submit_s)
    if clock.waiting > 0 or (clock.rounds and clock.running > 0):
        at_s = min(at_s, clock.reorder_at_s)
    if clock.waiting > 0:
        if clock.backfill == CONSERVATIVE:
            at_s = min(at_s, next_planned_s(s))
        if is_capped(s):
            at_s = min(at_s, next_sleep_s(s))
    return float(min(at_s, clock.reclaim_at_s))


@lean
def _next_instant(s: BatchState) -> int:
    """Handle the ends and submissions of the next instant; return a reason, or GO_ON."""
    clock = s.clock[0]
    if clock.unfinished == 0:
        return DONE
    if clock.stuck:
        return STUCK
    if clock.interrupts and len(s.runs) - clock.logged < clock.running:
        return NEED_SPACE
    at_s = _next_s(s)
    clock.now_s = at_s
    fall_asleep(s)
    while clock.running > 0 and s.jobs[s.heap[0]].end_s == at_s:
        _end(s)
    while clock.arrived < clock.submissions and s.jobs[clock.arrived].submit_s == at_s:
        _submit(s, clock.arrived)
        clock.arrived += 1
    if at_s >= clock.reclaim_at_s:
        return NODE_RECLAIMED
    if clock.rounds:
        due = at_s >= clock.reorder_at_s and clock.waiting + clock.running > 0
        return NEED_ORDER if due else GO_ON
    if clock.waiting > 0 and (at_s >= clock.reorder_at_s or clock.ordered < clock.arrived):
        return NEED_ORDER
    return GO_ON


@lean
def run(s: BatchState, row: Any) -> Any:
    """Continue until the end or until the caller is needed; return why (layout).

    NEED_SPACE: more allocations. NEED_ORDER: waiting jobs and those from `ordered` to `arrived`
    need their `order`; the caller sets `ordered`, and then `reorder_at_s`. `row` is scratch space
    of one node's resources.
    """
    while start_waiting(s, row):
        reason = _next_instant(s)
        if reason != GO_ON:
            return reason
    return NEED_SPACE


@lean
def run_planned(s: BatchState, row: Any) -> Any:
    """As `run`, for conservative backfilling: apart, as compiling it takes long.

    NEED_SPACE: also more steps of the profile.
    """
    clock = s.clock[0]
    while 4 * (clock.waiting + clock.running + 2) <= s.profile.shape[1]:
        if not start_planned(s, row):
            break
        reason = _next_instant(s)
        if reason != GO_ON:
            return reason
    return NEED_SPACE


@lean
def run_rounds(s: BatchState, row: Any) -> Any:
    """As `run`, for policies that assign node types to jobs in rounds."""
    while start_assigned(s, row):
        reason = _next_instant(s)
        if reason != GO_ON:
            return reason
    return NEED_SPACE
