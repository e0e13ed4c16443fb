"""Starts of jobs under policies that assign node types to jobs in rounds."""

from typing import Any

from trimtab.batch.kernel.layout import NIL, BatchState
from trimtab.batch.kernel.starting import has_space, start_on
from trimtab.clusters.compiled import lean


@lean
def start_assigned(s: BatchState, row: Any) -> bool:
    """Start the waiting jobs that have a node type and room; return whether space sufficed."""
    clock = s.clock[0]
    kept, enough = 0, True
    for at in range(clock.waiting):
        slot = s.waiting[at]
        target = s.progress[slot].target
        if enough and target != NIL:
            enough = has_space(s, slot)
            if enough and start_on(s, slot, target, row, False):
                s.progress[slot].target = NIL
                continue
        s.waiting[kept] = slot
        kept += 1
    clock.waiting = kept
    clock.fresh = 0
    return enough
