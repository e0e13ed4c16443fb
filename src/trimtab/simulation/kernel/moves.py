"""Migration: the new place is set up while the old one works, then the job continues there.

Where the policy restarts moved jobs, all of its work is done again there, and no state moves.
"""

from trimtab.clusters.compiled import lean
from trimtab.policies import layout
from trimtab.policies.layout import INFINITY, NIL, KernelModel, KernelOutput, KernelState, index
from trimtab.simulation.kernel.capacity import bring_image, give_back, take
from trimtab.simulation.kernel.energy import draw_here, draw_there, stop_here, stop_there
from trimtab.simulation.kernel.heap import schedule
from trimtab.simulation.kernel.places import place_again
from trimtab.simulation.kernel.running import advance, change_level, end_sprint, write_allocation


@lean
def switch(m: KernelModel, s: KernelState, out: KernelOutput, slot: int, pause_s: float) -> None:
    """Continue at the new place, after a pause of `pause_s` for moving state, or start again."""
    job, clock = s.jobs[index(slot)], s.clock[0]
    shape = s.shapes[index(job.shape)]
    advance(m, s, slot)
    write_allocation(m, s, out, job, layout.MIGRATED)
    stop_here(m, s, job, shape)
    give_back(m, s, job.node, shape, job.gpus, job.allocation_s)
    if job.sprinting:
        end_sprint(m, s, job)
    if m.rules[0].restarts_moved:
        pause_s = 0.0
    if pause_s > 0.0:
        stop_there(m, s, job, shape)
        job.draw_s = clock.now_s + pause_s
    else:
        job.drawing_w, job.drawing_gpu_w = job.there_w, job.there_gpu_w
        job.drawing_since_s = job.there_drawing_since_s
        job.drawing_from = job.there_drawing_from
        job.there_drawing_since_s = INFINITY
    job.node, job.level, job.allocation_s = job.there, job.there_level, job.there_since_s
    job.gpus, job.there = job.there_gpus, NIL
    job.there_draw_s = job.switch_s = INFINITY
    job.migrations += 1
    if m.rules[0].restarts_moved:
        job.wasted_s += job.kept_s + (clock.now_s - job.begun_s)
        job.kept_s, job.left_s, job.begun_s = 0.0, job.work_s, clock.now_s
    job.ready_s = job.since_s = clock.now_s + pause_s
    job.set_up_s += job.ready_s - clock.now_s
    speed = m.paces[shape.job_class, s.nodes[index(job.node)].type, job.level].speed
    job.finish_s = job.ready_s + job.left_s / speed
    schedule(s, slot)


@lean
def move(
    m: KernelModel, s: KernelState, out: KernelOutput, slot: int, number: int, level: int
) -> None:
    """Reserve a new place for a job and begin its set-up."""
    job, clock = s.jobs[index(slot)], s.clock[0]
    shape, kind = s.shapes[index(job.shape)], s.nodes[index(number)].type
    job_class = shape.job_class
    job.there_gpus = take(m, s, number, shape)
    job.there, job.there_level, job.there_since_s = number, level, clock.now_s
    if m.rules[0].free_migration:
        draw_there(m, s, job, shape)
        switch(m, s, out, slot, 0.0)
        return
    pull_s = 0.0 if s.images[job_class, number] else m.sites[job_class, kind].pull_s
    job.switch_s = clock.now_s + pull_s + m.classes[job_class].cold_start_s
    if pull_s > 0.0:
        job.there_draw_s = clock.now_s + pull_s
    else:
        draw_there(m, s, job, shape)
    schedule(s, slot)


@lean
def draw_event(m: KernelModel, s: KernelState, slot: int, there: bool) -> None:
    """Handle the arrival of the image, or the state, at a job's node or new node."""
    job = s.jobs[index(slot)]
    shape = s.shapes[index(job.shape)]
    if there:
        job.there_draw_s = INFINITY
        bring_image(s, job.there, shape.job_class)
        draw_there(m, s, job, shape)
    else:
        job.draw_s = INFINITY
        bring_image(s, job.node, shape.job_class)
        draw_here(m, s, job, shape)
    schedule(s, slot)


@lean
def _held(s: KernelState) -> bool:
    """Return whether waiting jobs have priority: the free capacity exceeds their requests.

    Rocha's thesis, section 3.3.4: running jobs are not reconsidered while the queue is not empty
    and the cluster's free capacity is above the sum of its requests.
    """
    clock = s.clock[0]
    if clock.pending == 0:
        return False
    cpu, gpu, memory = clock.waiting_cpu, clock.waiting_gpu, clock.waiting_memory
    for number in range(len(s.nodes)):
        node = s.nodes[index(number)]
        if node.up:
            cpu -= node.free_cpu
            gpu -= node.free_gpu
            memory -= node.free_memory
    return bool(cpu < 0 and gpu <= 0 and memory < 0)


@lean
def reconsider(m: KernelModel, s: KernelState, out: KernelOutput) -> None:
    """Move running jobs, the longest-running first, to places that the policy prefers.

    Rocha's thesis, algorithm 3. Jobs in set-up or migration stay.
    """
    clock = s.clock[0]
    if m.rules[0].hold_when_pending and _held(s):
        return
    slot = clock.first_running
    while slot != NIL:
        job = s.jobs[index(slot)]
        if job.ready_s <= clock.now_s and job.there == NIL:
            number, level = place_again(m, s, slot)
            if number == job.node:
                if level != job.level:
                    change_level(m, s, out, slot, level)
            elif number != NIL:
                move(m, s, out, slot, number, level)
        slot = job.after
