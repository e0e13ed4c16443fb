"""A cap of the power of all nodes together, in whole milliwatts, so that sums are exact.

What is drawn now: idle power of nodes that are on, and active power of running jobs. A reservation
counts a job's active power and what its nodes draw more than asleep, though jobs may share a node,
and other nodes may idle on until they sleep.
"""

from typing import Any

from trimtab.batch.kernel.layout import NO_CAP, BatchState
from trimtab.clusters.compiled import inlined, lean


@inlined
def is_capped(s: BatchState) -> bool:
    """Return whether there is a cap."""
    return bool(s.clock[0].cap_mw < NO_CAP)


@lean
def planned_mw(s: BatchState, slot: int, number: int) -> int:
    """Return the power that a job needs at least on a type, on empty nodes that sleep."""
    job, of_type = s.jobs[slot], s.types[number]
    site = s.sites[job.kind, number]
    of_node = max(1, site.most_parts // of_type.nodes)
    nodes = (job.parts + of_node - 1) // of_node
    return int(job.parts * site.part_mw + nodes * of_type.saved_mw)


@lean
def has_power(s: BatchState, slot: int, number: int, lasts: bool) -> bool:
    """Return whether a job's active power is below the cap.

    `lasts`: its reservation, too, beside that of the first waiting job.
    """
    job, clock = s.jobs[slot], s.clock[0]
    if clock.power_mw + job.parts * s.sites[job.kind, number].part_mw > clock.cap_mw:
        return False
    return not lasts or planned_mw(s, slot, number) <= clock.later_mw


@lean
def can_wake(s: BatchState, slot: int, number: int, count: int) -> bool:
    """Return whether there is power for a job, and to wake those of its chosen nodes that sleep."""
    job, clock = s.jobs[slot], s.clock[0]
    asleep = 0
    for at in range(count):
        asleep += s.nodes[s.chosen[at, 0]].asleep
    needed_mw = job.parts * s.sites[job.kind, number].part_mw + asleep * s.types[number].saved_mw
    return bool(clock.power_mw + needed_mw <= clock.cap_mw)


@lean
def draw(s: BatchState, job: Any, number: int) -> None:
    """Count the power of a job that has its nodes, which are awake."""
    clock = s.clock[0]
    clock.power_mw += job.parts * s.sites[job.kind, number].part_mw
    clock.peak_mw = max(clock.peak_mw, clock.power_mw)
    saved_mw = s.types[number].saved_mw
    job.held_mw = job.parts * s.sites[job.kind, number].part_mw + job.nodes * saved_mw
    clock.held_mw += job.held_mw


@lean
def stop_drawing(s: BatchState, job: Any) -> None:
    """Count the power of a job no longer; its nodes are still awake."""
    clock = s.clock[0]
    clock.power_mw -= job.parts * s.sites[job.kind, job.type].part_mw
    clock.held_mw -= job.held_mw


@lean
def reserve_power(s: BatchState, slot: int) -> None:
    """Note what the first waiting job's reservation leaves of the power when it starts."""
    clock = s.clock[0]
    clock.later_mw = clock.cap_mw - clock.held_mw - planned_mw(s, slot, clock.shadow_type)
    for at in range(clock.running):
        running = s.jobs[s.running[at]]
        if running.ends_s > clock.shadow_s:
            break
        clock.later_mw += running.held_mw
