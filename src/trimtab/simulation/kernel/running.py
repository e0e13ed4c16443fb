"""Events of placed jobs: start, finish, eviction, changes of level, sprints.

The sprint budget is in seconds of one job's sprinting, and is replenished over time.
"""

import math
from typing import Any

from trimtab.clusters.compiled import inlined, lean
from trimtab.policies import layout
from trimtab.policies.layout import INFINITY, NIL, KernelModel, KernelOutput, KernelState, index
from trimtab.simulation.kernel.capacity import give_back, take
from trimtab.simulation.kernel.energy import draw_here, stop_here, stop_there
from trimtab.simulation.kernel.heap import schedule, unschedule
from trimtab.simulation.kernel.queues import join
from trimtab.simulation.resampling import resampled_s


@inlined
def settle_budget(m: KernelModel, s: KernelState) -> None:
    """Update the sprint budget, before the number of sprinters changes."""
    clock, rules = s.clock[0], m.rules[0]
    elapsed = clock.now_s - clock.budget_at_s
    budget_s = clock.budget_s + (rules.replenish_s_per_s - clock.sprinters) * elapsed
    clock.budget_s = min(rules.budget_s, max(0.0, budget_s))
    clock.budget_at_s = clock.now_s


@inlined
def foresee_empty(m: KernelModel, s: KernelState) -> None:
    """Compute when the sprint budget will be empty, after the number of sprinters changed."""
    clock = s.clock[0]
    drain = clock.sprinters - m.rules[0].replenish_s_per_s
    clock.empty_s = clock.now_s + clock.budget_s / drain if drain > 0.0 else INFINITY


@lean
def end_sprint(m: KernelModel, s: KernelState, job: Any) -> None:
    """Record the end of a job's sprint; its allocation has not been changed yet."""
    clock = s.clock[0]
    settle_budget(m, s)
    job.sprinting = 0
    job.sprinted_s += clock.now_s - job.allocation_s
    clock.sprinters -= 1
    foresee_empty(m, s)


@inlined
def start(m: KernelModel, s: KernelState, slot: int, number: int, level: int) -> None:
    """Begin an execution: pull the image if it is missing, start up, work."""
    job, clock = s.jobs[index(slot)], s.clock[0]
    shape, node = s.shapes[index(job.shape)], s.nodes[index(number)]
    kind, job_class, now_s = node.type, shape.job_class, clock.now_s
    job.gpus = take(m, s, number, shape)
    clock.running += 1
    job.before, job.after = clock.last_running, NIL
    if clock.last_running == NIL:
        clock.first_running = slot
    else:
        s.jobs[index(clock.last_running)].after = slot
    clock.last_running = slot

    pull_s = m.sites[index(job_class), index(kind)].pull_s
    facts = m.classes[index(job_class)]
    if pull_s > 0.0 and s.images[job_class, number]:
        pull_s = 0.0
    job.node, job.level, job.there = number, level, NIL
    job.begun_s = job.allocation_s = now_s
    if math.isnan(job.first_s):
        job.first_s = now_s
    job.ready_s = job.since_s = now_s + pull_s + facts.cold_start_s
    job.set_up_s += job.ready_s - now_s
    pace = m.paces[index(job_class), index(kind), index(level)]
    job.finish_s = job.ready_s + job.left_s / pace.speed
    job.sprint_s = now_s + facts.sprint_after_s
    job.switch_s = job.there_draw_s = job.drawing_since_s = INFINITY
    job.there_drawing_since_s = INFINITY
    if pull_s > 0.0:
        job.draw_s = now_s + pull_s
    else:
        job.draw_s = INFINITY
        draw_here(m, s, job, shape)
    schedule(s, slot)


@inlined
def write_allocation(m: KernelModel, s: KernelState, out: KernelOutput, job: Any, end: int) -> None:
    """Record the end of a job's allocation at its node and level."""
    if m.rules[0].records_allocations:
        clock = s.clock[0]
        row = out.allocations[index(clock.allocations)]
        clock.allocations += 1
        row.job, row.node, row.level = job.job, job.node, job.level
        row.cpu_milli = s.shapes[index(job.shape)].cpu
        row.start_s, row.end_s, row.end = job.allocation_s, clock.now_s, end
        row.ready_s = max(job.ready_s, job.allocation_s) if job.ready_s <= clock.now_s else math.nan


@inlined
def advance(m: KernelModel, s: KernelState, slot: int) -> None:
    """Subtract the work done until now from a job's remaining work."""
    job, now_s = s.jobs[index(slot)], s.clock[0].now_s
    if now_s > job.since_s:
        job_class, kind = s.shapes[index(job.shape)].job_class, s.nodes[index(job.node)].type
        speed = m.paces[job_class, kind, job.level].speed
        job.left_s = max(0.0, job.left_s - (now_s - job.since_s) * speed)
        job.since_s = now_s


@lean
def forsake(m: KernelModel, s: KernelState, out: KernelOutput, slot: int) -> None:
    """Release the place that a job was moving to."""
    job, clock = s.jobs[index(slot)], s.clock[0]
    if m.rules[0].records_allocations:
        row = out.allocations[index(clock.allocations)]
        clock.allocations += 1
        row.job, row.node, row.level = job.job, job.there, job.there_level
        row.cpu_milli = s.shapes[index(job.shape)].cpu
        row.start_s, row.end_s, row.end = job.there_since_s, clock.now_s, layout.MIGRATED
        row.ready_s = math.nan
    shape = s.shapes[index(job.shape)]
    stop_there(m, s, job, shape)
    give_back(m, s, job.there, shape, job.there_gpus, job.there_since_s)
    job.there = NIL
    job.there_draw_s = job.switch_s = INFINITY


@inlined
def leave(m: KernelModel, s: KernelState, out: KernelOutput, slot: int, end: int) -> None:
    """Remove a job from its place, for any reason."""
    job, clock = s.jobs[index(slot)], s.clock[0]
    shape = s.shapes[index(job.shape)]
    if job.there != NIL:
        forsake(m, s, out, slot)
    write_allocation(m, s, out, job, end)
    stop_here(m, s, job, shape)
    give_back(m, s, job.node, shape, job.gpus, job.allocation_s)
    if clock.now_s < job.ready_s:
        job.set_up_s -= job.ready_s - clock.now_s
    if job.sprinting:
        end_sprint(m, s, job)
    unschedule(s, slot)
    clock.running -= 1
    if job.before == NIL:
        clock.first_running = job.after
    else:
        s.jobs[index(job.before)].after = job.after
    if job.after == NIL:
        clock.last_running = job.before
    else:
        s.jobs[index(job.after)].before = job.before


@inlined
def finish(m: KernelModel, s: KernelState, out: KernelOutput, slot: int) -> None:
    """End a job, record it, and free its slot."""
    leave(m, s, out, slot, layout.FINISHED)
    job, clock = s.jobs[index(slot)], s.clock[0]
    shape = s.shapes[index(job.shape)]
    row = out.rows[index(clock.rows)]
    clock.rows += 1
    row.job, row.job_class, row.priority = job.job, shape.job_class, shape.priority
    row.cpu_milli, row.node, row.level = shape.cpu, job.node, job.level
    row.arrival_s, row.start_s, row.finish_s = job.arrival_s, job.first_s, clock.now_s
    row.response_s = clock.now_s - job.arrival_s
    row.execution_s = job.kept_s + (clock.now_s - job.begun_s)
    row.wasted_s, row.set_up_s, row.sprint_s = job.wasted_s, job.set_up_s, job.sprinted_s
    row.dropped_tasks, row.evictions = job.dropped, job.evictions
    row.migrations, row.energy_j = job.migrations, job.energy_j
    job.after = clock.free_slot
    clock.free_slot = slot


@lean
def evict(m: KernelModel, s: KernelState, out: KernelOutput, slot: int, end: int) -> None:
    """Send a job back to its queue, where it resumes later or loses its work.

    On a failed node (`end` FAILED), work is lost even where evicted jobs resume.
    """
    job = s.jobs[index(slot)]
    spent_s = s.clock[0].now_s - job.begun_s
    advance(m, s, slot)
    leave(m, s, out, slot, end)
    job.evictions += 1
    if m.rules[0].resumes and end == layout.EVICTED:
        job.kept_s += spent_s
    else:
        job.wasted_s += job.kept_s + spent_s
        job.kept_s = 0.0
        if m.rules[0].resamples:
            job_class = s.shapes[index(job.shape)].job_class
            job.work_s = resampled_s(m.work_s, m.works_from, job_class, job.job, job.evictions)
        job.left_s = job.work_s
    join(s, slot)


@lean
def change_level(m: KernelModel, s: KernelState, out: KernelOutput, slot: int, level: int) -> None:
    """Continue a job at another frequency level."""
    job = s.jobs[index(slot)]
    advance(m, s, slot)
    write_allocation(m, s, out, job, layout.LEVEL)
    node = s.nodes[index(job.node)]
    shape = s.shapes[index(job.shape)]
    node.busy_core_s += shape.cpu * 1e-3 * (s.clock[0].now_s - job.allocation_s)
    drew = job.drawing_since_s < INFINITY
    stop_here(m, s, job, shape)
    job.level, job.allocation_s = level, s.clock[0].now_s
    if drew:
        draw_here(m, s, job, shape)
    job.finish_s = job.since_s + job.left_s / m.paces[shape.job_class, node.type, level].speed
    schedule(s, slot)


@inlined
def resolved(m: KernelModel, kind: int, level: int) -> int:
    """Return a level's number; negative ones count from the type's highest, -1."""
    return int(level + m.kinds[index(kind)].levels) if level < 0 else level


@lean
def sprint(m: KernelModel, s: KernelState, out: KernelOutput, slot: int) -> None:
    """Start a sprint when a job's timer fires, given a budget and a faster level."""
    job = s.jobs[index(slot)]
    job.sprint_s = INFINITY
    settle_budget(m, s)
    level = resolved(m, s.nodes[index(job.node)].type, m.rules[0].sprint_level)
    if s.clock[0].budget_s > 0.0 and level != job.level:
        change_level(m, s, out, slot, level)
        job.sprinting = 1
        s.clock[0].sprinters += 1
    else:
        schedule(s, slot)
    foresee_empty(m, s)


@lean
def stop_sprints(m: KernelModel, s: KernelState, out: KernelOutput) -> None:
    """Return all sprinting jobs to their levels: the budget is empty."""
    slot = s.clock[0].first_running
    while slot != NIL:
        job = s.jobs[index(slot)]
        if job.sprinting:
            end_sprint(m, s, job)
            level = resolved(m, s.nodes[index(job.node)].type, m.rules[0].level)
            change_level(m, s, out, slot, level)
        slot = job.after
    s.clock[0].budget_s = 0.0


@lean
def fail(m: KernelModel, s: KernelState, out: KernelOutput, number: int) -> None:
    """Take a node down: its jobs return to their queues, moves to it are cancelled."""
    node: Any = s.nodes[index(number)]
    node.up = 0
    node.down_since_s = s.clock[0].now_s
    slot = s.clock[0].first_running
    while slot != NIL:
        after = s.jobs[index(slot)].after
        if s.jobs[index(slot)].node == number:
            evict(m, s, out, slot, layout.FAILED)
        elif s.jobs[index(slot)].there == number:
            forsake(m, s, out, slot)
            schedule(s, slot)
        slot = after
