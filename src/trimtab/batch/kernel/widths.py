"""Moldable jobs: the width, in parts, is chosen at the start (Cirne and Berman, 2002).

Run times follow Amdahl's law: on n parts (s + (1 - s) / n) of that on one, with s the serial share.
"""

from typing import Any

from trimtab.batch.kernel.layout import CPU, NIL, BatchState
from trimtab.batch.kernel.nodes import fit, shared_row
from trimtab.batch.kernel.power import is_capped
from trimtab.clusters.compiled import inlined, lean


@inlined
def is_moldable(job: Any) -> bool:
    """Return whether a job has several widths."""
    return bool(job.most_parts > job.least_parts)


@inlined
def width_factor(job: Any) -> float:
    """Return the run time at a job's width relative to the recorded width."""
    if job.parts == job.recorded_parts:
        return 1.0
    serial, recorded = job.serial_share, job.recorded_parts
    return float((serial + (1.0 - serial) / job.parts) / (serial + (1.0 - serial) / recorded))


@lean
def _parts_with_room(s: BatchState, slot: int, number: int, row: Any, keeps: bool) -> int:
    """Return how many of a job's parts have room on a type now."""
    job, of_type = s.jobs[slot], s.types[number]
    kind = s.kinds[job.kind]
    left = job.most_parts
    for node in range(of_type.lowest, of_type.first_node + of_type.nodes):
        if left == 0 or kind.cpu > s.free[node, CPU]:
            continue
        if keeps:
            shared_row(s, node, row)
            left -= fit(row, kind, left)
        else:
            left -= fit(s.free[node], kind, left)
    return int(job.most_parts - left)


@lean
def widen(s: BatchState, slot: int, number: int, row: Any, keeps: bool) -> None:
    """Give a waiting job the width that ends first of those with room and power now.

    This is the widest, unless all are as fast. Without room it has its least width.
    """
    job, clock = s.jobs[slot], s.clock[0]
    job.parts = job.least_parts
    if job.serial_share == 1.0:
        return
    parts = _parts_with_room(s, slot, number, row, keeps)
    part_mw = s.sites[job.kind, number].part_mw
    if is_capped(s) and part_mw > 0:
        parts = min(parts, (clock.cap_mw - clock.power_mw) // part_mw)
    job.parts = max(parts, job.least_parts)


@lean
def next_width(job: Any, parts: int) -> int:
    """Return the next of the widths that are planned: doubled, up to the most; NIL behind it."""
    return NIL if parts == job.most_parts else min(2 * parts, job.most_parts)
