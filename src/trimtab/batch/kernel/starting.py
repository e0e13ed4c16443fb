"""Starts and ends of jobs."""

import math
from typing import Any

from trimtab.batch.kernel.checkpoints import wall_s
from trimtab.batch.kernel.images import longest_start_s
from trimtab.batch.kernel.layout import WHOLE_GPU, BatchState
from trimtab.batch.kernel.lists import insert, pop_end, push_end, remove, running_place
from trimtab.batch.kernel.nodes import allocate, release, search
from trimtab.batch.kernel.power import can_wake, is_capped
from trimtab.clusters.compiled import inlined, lean


@lean
def _used(s: BatchState, user: int) -> None:
    """Update what a user has used until now."""
    of_user, clock = s.users[user], s.clock[0]
    elapsed_s = clock.now_s - of_user.at_s
    if elapsed_s > 0.0:
        kept = 0.5 ** (elapsed_s / clock.half_life_s)
        lasting_s = clock.half_life_s / 0.6931471805599453  # the integral of the decay
        of_user.usage_s = of_user.usage_s * kept + of_user.share * lasting_s * (1.0 - kept)
        of_user.at_s = clock.now_s


@inlined
def has_space(s: BatchState, slot: int) -> bool:
    """Return whether there is space for a job's allocations."""
    job = s.jobs[slot]
    shares = 0 < s.kinds[job.kind].gpu < WHOLE_GPU  # each part has an allocation of its own
    most = job.most_parts if shares else min(job.most_parts, len(s.free))
    return bool(s.clock[0].space >= most)


@inlined
def longest_s(s: BatchState, slot: int, number: int) -> float:
    """Return how long a job has nodes of a type at most, by its estimate."""
    job, of_type = s.jobs[slot], s.types[number]
    lasts_s = wall_s(s, slot, number, job.estimate_s) + longest_start_s(s, job)
    return float(lasts_s + of_type.wake_s if of_type.sleep_after_s < math.inf else lasts_s)


@inlined
def _room(s: BatchState, slot: int, number: int, row: Any, keeps: bool) -> int:
    """Choose nodes of a type for a job; return how many. What fails is remembered by kind."""
    job, version = s.jobs[slot], s.types[number].version
    site = s.sites[job.kind, number]
    if site.failed_at == version and job.parts >= site.failed_parts:
        return 0
    if keeps and site.kept_out_at == version and job.parts >= site.kept_out_parts:
        return 0
    count = search(s, number, job.kind, job.parts, row, keeps)
    if count == 0 and keeps:
        if site.kept_out_at != version:
            site.kept_out_at, site.kept_out_parts = version, job.parts
        site.kept_out_parts = min(site.kept_out_parts, job.parts)
    elif count == 0:
        if site.failed_at != version:
            site.failed_at, site.failed_parts = version, job.parts
        site.failed_parts = min(site.failed_parts, job.parts)
    return int(count)


@lean
def _start(s: BatchState, slot: int, number: int, count: int, row: Any, keeps: bool) -> None:
    job, clock = s.jobs[slot], s.clock[0]
    allocate(s, slot, number, count, row, keeps)
    job.type = number
    job.start_s = clock.now_s
    job.end_s = clock.now_s + job.waking_s + wall_s(s, slot, number, job.run_s)
    job.ends_s = clock.now_s + job.waking_s + wall_s(s, slot, number, job.estimate_s)
    _used(s, job.user)
    s.users[job.user].share += job.share * (job.parts / job.least_parts)
    add_running(s, slot)


@lean
def add_running(s: BatchState, slot: int) -> None:
    """Add a job to the lists of running ones, by its ends."""
    clock = s.clock[0]
    push_end(s, clock.running, slot)
    insert(s.running, clock.running, running_place(s, slot), slot)
    clock.running += 1


@inlined
def start_on(s: BatchState, slot: int, number: int, row: Any, keeps: bool) -> bool:
    """Start a job on nodes of a type, if there is room.

    `keeps`: it leaves the first job's reservation alone.
    """
    count = _room(s, slot, number, row, keeps)
    if count > 0 and is_capped(s) and not can_wake(s, slot, number, count):
        count = 0
    if count > 0:
        _start(s, slot, number, count, row, keeps)
    return count > 0


@lean
def end_first(s: BatchState) -> int:
    """End the job that ends first, and return it."""
    clock = s.clock[0]
    slot = pop_end(s, clock.running)
    remove(s.running, clock.running, running_place(s, slot))
    clock.running -= 1
    free_nodes(s, slot)
    return slot


@lean
def free_nodes(s: BatchState, slot: int) -> None:
    """Free the nodes of a job that is no longer in the lists of running ones."""
    release(s, slot)
    job = s.jobs[slot]
    _used(s, job.user)
    s.users[job.user].share -= job.share * (job.parts / job.least_parts)
    s.clock[0].grown = 1
