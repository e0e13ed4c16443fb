"""The event loop: takes the earliest event, then tries waiting jobs, until it has to return.

At one instant, jobs' own events come first: finish, image there, moved, sprint timer, each by
number of the job. Then come outages, the empty sprint budget and arrivals. Then waiting jobs are
placed. Tick, sample and maintenance come last. So jobs that arrive at one instant are served by
priority, not in the order of the trace.
"""

import math
from typing import Any

from trimtab.clusters.compiled import inlined, lean
from trimtab.policies import layout
from trimtab.policies.layout import INFINITY, NIL, KernelModel, KernelOutput, KernelState, index
from trimtab.simulation.kernel.capacity import make_available, refresh
from trimtab.simulation.kernel.dispatch import dispatch
from trimtab.simulation.kernel.heap import KIND_SHIFT
from trimtab.simulation.kernel.moves import draw_event, reconsider, switch
from trimtab.simulation.kernel.queues import join
from trimtab.simulation.kernel.running import fail, finish, sprint, stop_sprints

_JOB, _OUTAGE, _EMPTY, _ARRIVAL, _TICK, _SAMPLE, _MAINTAIN, _NOTHING = range(8)


@inlined
def _arrive(s: KernelState, arrival: Any) -> None:
    clock = s.clock[0]
    slot = clock.free_slot
    job = s.jobs[index(slot)]
    clock.free_slot = job.after
    job.job, job.shape, job.arrival_s = arrival.job, arrival.shape, arrival.arrival_s
    job.work_s = job.left_s = arrival.work_s
    job.dropped = arrival.dropped
    job.first_s = math.nan
    job.kept_s = job.wasted_s = job.set_up_s = job.sprinted_s = job.energy_j = 0.0
    job.evictions = job.migrations = job.sprinting = 0
    job.heap = NIL
    join(s, slot)


@lean
def _outage(m: KernelModel, s: KernelState, out: KernelOutput) -> None:
    clock = s.clock[0]
    outage = m.outages[clock.outage]
    clock.outage += 1
    node = s.nodes[index(outage.node)]
    if outage.up:
        node.up = 1
        node.down_s += clock.now_s - node.down_since_s
        refresh(m, s, outage.node)
        make_available(s, outage.node)
    else:
        fail(m, s, out, outage.node)
        refresh(m, s, outage.node)


@inlined
def _own_event(m: KernelModel, s: KernelState, out: KernelOutput) -> None:
    """Handle the event at the top of the heap."""
    slot = s.heap[0].slot
    kind = s.heap[0].order >> KIND_SHIFT
    if kind == layout.FINISH:
        finish(m, s, out, slot)
    elif kind == layout.DRAW or kind == layout.DRAW_THERE:
        draw_event(m, s, slot, kind == layout.DRAW_THERE)
    elif kind == layout.SWITCH:
        job = s.jobs[index(slot)]
        kind_there = s.nodes[index(job.there)].type
        switch(m, s, out, slot, m.sites[s.shapes[index(job.shape)].job_class, kind_there].pause_s)
    else:
        sprint(m, s, out, slot)


@lean
def _other_event(m: KernelModel, s: KernelState) -> tuple[float, int]:
    """Return the time and kind of the next event other than jobs' own."""
    clock = s.clock[0]
    time_s, what = INFINITY, _NOTHING
    if clock.outage < len(m.outages):
        time_s, what = m.outages[clock.outage].time_s, _OUTAGE
    if clock.tick_s < time_s:
        time_s, what = clock.tick_s, _TICK
    if clock.sample_s < time_s:
        time_s, what = clock.sample_s, _SAMPLE
    if clock.maintain_s < time_s:
        time_s, what = clock.maintain_s, _MAINTAIN
    return time_s, what


@lean
def run(
    m: KernelModel, s: KernelState, chunk: Any, position: int, last: bool, out: KernelOutput
) -> Any:
    """Continue from `position` of `chunk` until the caller is needed; return why, and the position.

    `chunk` is an array of ARRIVAL. `last`: no chunk follows. The reason is one of layout's. SAMPLE
    and MAINTAIN are at the time `clock.now_s`; the caller sets the next one's time.
    """
    clock, rules = s.clock[0], m.rules[0]
    arrivals, rows, allocations = len(chunk), len(out.rows), len(out.allocations)
    records_allocations = rules.records_allocations
    other_s, other = _other_event(m, s)
    while True:
        if position == arrivals and not last:
            return layout.NEED_ARRIVALS, position
        time_s, what = INFINITY, _NOTHING
        if clock.in_heap > 0:
            time_s, what = s.heap[0].time_s, _JOB
        if clock.empty_s < time_s:
            time_s, what = clock.empty_s, _EMPTY
        if position < arrivals and chunk[index(position)].arrival_s < time_s:
            time_s, what = chunk[index(position)].arrival_s, _ARRIVAL
        if other_s < time_s or (other_s == time_s and other < what):
            time_s, what = other_s, other

        if records_allocations and allocations < clock.allocations + 3 * clock.running + 8:
            return layout.NEED_OUTPUT, position
        if clock.changed and (time_s > clock.now_s or what >= _TICK):
            dispatch(m, s, out)
            continue
        if what == _JOB:
            if clock.rows == rows:
                return layout.NEED_OUTPUT, position
            clock.now_s = time_s
            clock.events += 1
            _own_event(m, s, out)
            continue
        if what == _ARRIVAL:
            if clock.free_slot == NIL:
                return layout.NEED_SLOTS, position
            clock.now_s = time_s
            clock.events += 1
            _arrive(s, chunk[index(position)])
            position += 1
            continue
        stuck = clock.pending == 0 or clock.outage == len(m.outages)
        if clock.in_heap == 0 and position == arrivals and stuck:
            return layout.DONE, position
        clock.now_s = time_s
        clock.events += 1
        if what == _EMPTY:
            stop_sprints(m, s, out)
        elif what == _OUTAGE:
            _outage(m, s, out)
        elif what == _TICK:
            reconsider(m, s, out)
            clock.tick_s += rules.tick_s
        elif what == _SAMPLE:
            return layout.SAMPLE, position
        else:
            return layout.MAINTAIN, position
        other_s, other = _other_event(m, s)
