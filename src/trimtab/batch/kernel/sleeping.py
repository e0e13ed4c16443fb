"""Nodes that fall asleep, or are switched off, where they are idle for long, and wake up for jobs.

The idle nodes of a type are in a list by the time since which they are idle, so those that fall
asleep are the first ones.
"""

import math
from typing import Any

from trimtab.batch.kernel.layout import NIL, NO_CAP, BatchState
from trimtab.clusters.compiled import lean


@lean
def note_idle(s: BatchState, number: int, of_type: Any) -> None:
    """Note that a node has no parts from now on."""
    node = s.nodes[number]
    node.idle_s = s.clock[0].now_s
    if of_type.sleep_after_s == math.inf:
        return
    node.idle_before, node.idle_after = of_type.last_idle, NIL
    if of_type.last_idle == NIL:
        of_type.first_idle = number
    else:
        s.nodes[of_type.last_idle].idle_after = number
    of_type.last_idle = number


@lean
def _remove_idle(s: BatchState, number: int, of_type: Any) -> None:
    node = s.nodes[number]
    if node.idle_before == NIL:
        of_type.first_idle = node.idle_after
    else:
        s.nodes[node.idle_before].idle_after = node.idle_after
    if node.idle_after == NIL:
        of_type.last_idle = node.idle_before
    else:
        s.nodes[node.idle_after].idle_before = node.idle_before


@lean
def fall_asleep(s: BatchState) -> None:
    """Let the nodes sleep that have been idle for long by now."""
    clock = s.clock[0]
    for number in range(len(s.types)):
        of_type = s.types[number]
        while of_type.first_idle != NIL:
            first = of_type.first_idle
            if s.nodes[first].idle_s + of_type.sleep_after_s > clock.now_s:
                break
            _remove_idle(s, first, of_type)
            s.nodes[first].asleep = 1
            clock.power_mw -= of_type.saved_mw
            if clock.cap_mw < NO_CAP:
                clock.grown = 1  # jobs that wait for power are tried again


@lean
def sleep_at_once(s: BatchState, number: int, of_type: Any) -> None:
    """Let an idle node sleep that counts as drawing no more than this already."""
    if of_type.sleep_after_s < math.inf:
        _remove_idle(s, number, of_type)
        s.nodes[number].asleep = 1
        s.nodes[number].idle_s = s.clock[0].now_s - of_type.sleep_after_s


@lean
def next_sleep_s(s: BatchState) -> float:
    """Return when the next node falls asleep if no job needs it."""
    at_s = math.inf
    for number in range(len(s.types)):
        of_type = s.types[number]
        if of_type.first_idle != NIL:
            at_s = min(at_s, s.nodes[of_type.first_idle].idle_s + of_type.sleep_after_s)
    return float(at_s)


@lean
def wake_up(s: BatchState, number: int, of_type: Any) -> float:
    """Take an idle node for a job; return how long it takes to wake up.

    A node that was off has no images.
    """
    node, clock = s.nodes[number], s.clock[0]
    if of_type.sleep_after_s == math.inf:
        return 0.0
    if not node.asleep:
        _remove_idle(s, number, of_type)
        return 0.0
    node.asleep = 0
    node.asleep_s += clock.now_s - (node.idle_s + of_type.sleep_after_s)
    clock.power_mw += of_type.saved_mw
    if of_type.off:
        for image in range(s.ready_s.shape[1]):
            s.ready_s[number, image] = math.inf
    return float(of_type.wake_s)
