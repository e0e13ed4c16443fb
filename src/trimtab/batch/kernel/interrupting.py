"""Interruptions: a job goes back to its place in the queue with the work that is left."""

import math

from trimtab.batch.kernel.backfilling import CONSERVATIVE
from trimtab.batch.kernel.checkpoints import measure
from trimtab.batch.kernel.layout import MOST_INTERRUPTIONS, NIL, BatchState
from trimtab.batch.kernel.lists import insert, remove, remove_end, running_place, waiting_place
from trimtab.batch.kernel.nodes import allocate
from trimtab.batch.kernel.profile import give_back_plan, take_plan
from trimtab.batch.kernel.sleeping import sleep_at_once
from trimtab.batch.kernel.starting import add_running, free_nodes
from trimtab.batch.kernel.widths import width_factor
from trimtab.clusters.compiled import lean


@lean
def _remove_running(s: BatchState, slot: int) -> None:
    clock = s.clock[0]
    remove_end(s, clock.running, slot)
    remove(s.running, clock.running, running_place(s, slot))
    clock.running -= 1


@lean
def _queue_again(s: BatchState, slot: int) -> None:
    job, clock = s.jobs[slot], s.clock[0]
    job.planned_type, job.tried = NIL, 0
    insert(s.waiting, clock.waiting, waiting_place(s, s.waiting, clock.waiting, slot), slot)
    clock.waiting += 1
    insert(s.fresh, clock.fresh, waiting_place(s, s.fresh, clock.fresh, slot), slot)
    clock.fresh += 1


@lean
def _interrupt(s: BatchState, slot: int, saves: bool) -> None:
    """Take a running job off its nodes; with `saves`, all it did counts."""
    job, progress, clock = s.jobs[slot], s.progress[slot], s.clock[0]
    run = s.runs[clock.logged]
    clock.logged += 1
    measure(s, slot, progress.leaving_s if progress.leaving else clock.now_s, run)
    run.checkpoint_s += clock.now_s - run.end_s
    run.end_s = clock.now_s
    if saves:
        run.saved_s, run.lost_s = run.saved_s + run.lost_s, 0.0
    if clock.backfill == CONSERVATIVE and clock.now_s < job.ends_s:
        give_back_plan(s, slot)
    _remove_running(s, slot)
    free_nodes(s, slot)
    saved_s = run.saved_s / (s.sites[job.kind, job.type].slowdown * width_factor(job))
    job.run_s = max(0.0, job.run_s - saved_s)
    job.estimate_s = max(job.run_s, job.estimate_s - saved_s)
    job.parts = job.least_parts
    progress.leaving = 0
    progress.interruptions += 1
    if progress.interruptions >= MOST_INTERRUPTIONS:
        clock.stuck = 1
    progress.restart_s = progress.restart_cost_s
    _queue_again(s, slot)


@lean
def finish_leaving(s: BatchState, slot: int) -> None:
    """Take a preempted job off its nodes: its last checkpoint is written."""
    _interrupt(s, slot, True)


@lean
def preempt(s: BatchState, slot: int) -> None:
    """Take a running job off its nodes, after a last checkpoint if it has any.

    Where it ends before that is written, or is leaving already, it stays.
    """
    job, progress, clock = s.jobs[slot], s.progress[slot], s.clock[0]
    if progress.leaving:
        return
    if not progress.saves:
        _interrupt(s, slot, False)
        return
    scratch = s.runs[clock.logged]
    writing_s = measure(s, slot, clock.now_s, scratch)
    if writing_s == 0.0 and scratch.lost_s > 0.0:
        writing_s = progress.cost_s
    if clock.now_s + writing_s >= job.end_s:
        return
    if writing_s == 0.0:
        _interrupt(s, slot, True)
        return
    if clock.backfill == CONSERVATIVE and clock.now_s < job.ends_s:
        give_back_plan(s, slot)
    _remove_running(s, slot)
    progress.leaving, progress.leaving_s = 1, clock.now_s
    job.end_s = job.ends_s = clock.now_s + writing_s
    add_running(s, slot)
    if clock.backfill == CONSERVATIVE:
        take_plan(s, slot)
        clock.grown = clock.shrunk = 1


@lean
def _is_on(s: BatchState, slot: int, node: int) -> bool:
    entry = s.jobs[slot].first
    while entry != NIL:
        if s.allocations[entry].node == node:
            return True
        entry = s.allocations[entry].next
    return False


@lean
def reclaim(s: BatchState, number: int, node: int, back_s: float) -> None:
    """Interrupt the jobs on a node of a type, which is away until a time.

    Until then, a stand-in has the whole node: the job of the node's number behind all jobs. The
    node loses its images, and draws what it does asleep, at most.
    """
    clock = s.clock[0]
    at = 0
    while at < clock.running:
        slot = s.running[at]
        if _is_on(s, slot, node):
            _interrupt(s, slot, False)
        else:
            at += 1
    slot = clock.submissions + node
    job = s.jobs[slot]
    s.chosen[0, 0], s.chosen[0, 1] = node, 1
    for image in range(s.ready_s.shape[1]):
        s.ready_s[node, image] = math.inf
    clock.power_mw -= s.types[number].saved_mw
    allocate(s, slot, number, 1, s.free[node], False)
    clock.held_mw -= job.held_mw
    job.held_mw = 0
    job.type, job.start_s, job.waking_s = number, clock.now_s, 0.0
    job.end_s = job.ends_s = back_s
    s.nodes[node].reclaimed_s += back_s - clock.now_s
    add_running(s, slot)
    if clock.backfill == CONSERVATIVE:
        take_plan(s, slot)
    clock.grown = clock.shrunk = 1


@lean
def give_back(s: BatchState, slot: int) -> None:
    """Have a node again whose stand-in ended; it is asleep, where nodes sleep."""
    node = slot - s.clock[0].submissions
    sleep_at_once(s, node, s.types[s.jobs[slot].type])
