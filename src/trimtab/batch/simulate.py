"""Simulate an operator's jobs on a cluster under a policy of batch queues."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.figures import bounded_slowdown
from trimtab.batch.images import ImageStart
from trimtab.batch.interruptions.preemption import Preemption, set_tiers
from trimtab.batch.interruptions.rounds import assign_round
from trimtab.batch.interruptions.runs import (
    Runs,
    all_runs,
    allocations_of,
    beyond_linear_j,
    interruptions_of,
    runs_table,
)
from trimtab.batch.interruptions.spot import Reclaims, with_stand_ins
from trimtab.batch.kernel.groups import with_groups
from trimtab.batch.kernel.layout import (
    DONE,
    MOST_INTERRUPTIONS,
    NEED_ORDER,
    NEED_SPACE,
    NIL,
    NODE_RECLAIMED,
    STUCK,
    BatchState,
)
from trimtab.batch.kernel.library import Simulator
from trimtab.batch.model import (
    Kinds,
    at_levels,
    build_state,
    kinds_of,
    with_space,
)
from trimtab.batch.policies.base import Backfill, BatchPolicy
from trimtab.batch.policies.ordering import Ordering, sorted_again
from trimtab.batch.power_cap import with_room_and_power
from trimtab.batch.sleep import Sleep, sleeps_of
from trimtab.batch.throughputs import Throughputs
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError
from trimtab.records.batch.comparison import Interruptions
from trimtab.records.batch.tables import BATCH_SCHEDULE


@dataclass(frozen=True)
class BatchResult:
    """A schedule and its totals.

    `schedule` (BATCH_SCHEDULE) is in the order of jobs. `left_out`: jobs that the empty cluster has
    no room for. `raised_estimates`: jobs that ran longer than their estimate, which counts as long.
    `makespan_s`: from the first submission of these jobs to the last end. `utilisation`: busy share
    of cores and GPUs in it. `active_energy_j` is above idle. `allocations`: job, node, parts, GPUs
    as bits, and run (a row of `runs`), one row for parts on a node; None unless kept. `over_cap`:
    those of `left_out` that need more power alone than the cap. `peak_power_w` counts a job's
    active power from when it gets its nodes. `hours_on`: hours of nodes that are not switched off
    or reclaimed, by type. `pulls`: how many nodes pulled layers of each image, and `pulled_bytes`
    of all whose size is known; `cold_starts`: jobs that waited for one. `runs` (BATCH_RUNS) has
    also the runs that were interrupted, in the order of their ends.
    """

    schedule: pd.DataFrame
    left_out: int
    raised_estimates: int
    makespan_s: float
    utilisation: dict[str, float]
    idle_energy_j: float
    active_energy_j: float
    over_cap: int
    peak_power_w: float
    hours_on: dict[str, float]
    pulls: dict[str, int]
    pulled_bytes: float
    cold_starts: int
    allocations: pd.DataFrame | None
    runs: pd.DataFrame
    interruptions: Interruptions


def simulate_batch(
    jobs: pd.DataFrame,
    cluster: Cluster,
    policy: BatchPolicy,
    *,
    sleep: Sleep | None = None,
    autoscale: Mapping[str, Sleep] | None = None,
    power_cap_w: float | None = None,
    images: Mapping[str, ImageStart] | None = None,
    registry_bytes_per_s: float = math.inf,
    reclaims: Reclaims | None = None,
    preemption: Preemption | None = None,
    throughputs: Throughputs | None = None,
    keep_allocations: bool = False,
) -> BatchResult:
    """Simulate `jobs` (BATCH_JOBS) on `cluster` under `policy`.

    All parts of a job run on nodes of one type, at the level that the policy chooses. With `sleep`,
    nodes sleep where they are idle for long, and jobs wait for them to wake up. `autoscale` says
    the same of nodes that are off until they are needed, by type. With `images`, jobs wait for
    theirs; the registry sends them one after the other, at `registry_bytes_per_s`. With `reclaims`,
    nodes are lost for a time, and their jobs go back to the queue, as do those that others
    interrupt with `preemption`. `throughputs`: of models. Raises UserError where no job has room,
    where the policy gives no number for each job or node type, and where a job is interrupted
    without end.
    """
    _check_attributes(policy)
    kinds = kinds_of(jobs, cluster, throughputs)
    sleeps = sleeps_of(cluster, sleep, autoscale or {})
    room, over_cap = with_room_and_power(jobs, kinds, cluster, sleeps, power_cap_w)
    if not room.any():
        raise UserError("no job has room on the empty cluster; expected larger nodes, or more")
    jobs = jobs[room].reset_index(drop=True)
    kinds = at_levels(kinds._replace(of_job=kinds.of_job[room]), cluster, policy)
    if policy.rounds and preemption is not None:
        raise UserError(
            f"--preempt: {type(policy).__name__} itself chooses the jobs that run; expected another"
            " --policy, such as easy"
        )
    images = images or {}
    interrupts = policy.rounds or preemption is not None or reclaims is not None
    state = build_state(jobs, kinds, cluster, policy, sleeps, power_cap_w, images, interrupts)
    curved = any(node_type.load_curve for node_type in cluster.node_types)
    state.clock["keeps"] = keep_allocations or curved
    state.clock["link_bytes_per_s"] = registry_bytes_per_s
    if preemption is not None:
        set_tiers(state, jobs, preemption)
    if reclaims is not None:
        state = with_stand_ins(state, cluster, reclaims)
    state = _run(jobs, state, cluster, policy, reclaims)
    runs, rows = all_runs(state), state.jobs[: len(jobs)]
    table = runs_table(runs, rows, kinds.power_w, cluster)
    if curved:
        table["energy_j"] += beyond_linear_j(runs, state, kinds.rows, kinds.cores_w, cluster)
    assert not np.isnan(rows["start_s"]).any()
    schedule = _schedule(jobs, table)
    return BatchResult(
        schedule=schedule,
        left_out=int((~room).sum()),
        raised_estimates=int((jobs["run_s"] > jobs["estimate_s"]).sum()),
        **_totals(schedule, runs, state, kinds, cluster, sleeps),
        over_cap=int(over_cap.sum()),
        peak_power_w=float(state.clock["peak_mw"][0]) / 1000,
        pulls=_pulls(runs, rows, images),
        pulled_bytes=float(runs["pulled_bytes"].sum()),
        cold_starts=len(np.unique(runs["job"][runs["pulls"] > 0])),
        allocations=allocations_of(jobs, runs, state) if keep_allocations else None,
        runs=table.assign(job=jobs["job"].to_numpy()[table["job"]]),
        interruptions=interruptions_of(runs, rows, kinds.rows),
    )


def _run(
    jobs: pd.DataFrame,
    state: BatchState,
    cluster: Cluster,
    policy: BatchPolicy,
    reclaims: Reclaims | None,
) -> BatchState:
    clock = state.clock[0]
    ordering = Ordering(jobs, state, policy)
    if policy.reorder_s == math.inf:
        slots = np.arange(len(jobs))
        state.order[:] = ordering.of(slots, state.users, 0.0)
        clock["ordered"] = len(jobs)
    state = with_groups(state, final=policy.reorder_s == math.inf)
    if policy.rounds:
        clock["reorder_at_s"] = 0.0
    simulator = Simulator(state)
    while (reason := simulator.run()) != DONE:
        if reason == STUCK:
            raise _stuck(jobs, state)
        if reason == NEED_SPACE or clock["space"] == 0:
            state = with_space(state)
            simulator = Simulator(state)
        if reason == NODE_RECLAIMED and reclaims is not None:
            reclaims.reclaim(simulator)
        if reason != NEED_ORDER:
            continue
        now_s = float(clock["now_s"])
        if now_s >= clock["reorder_at_s"] or clock["reorder_at_s"] == math.inf:
            rounds = now_s // policy.reorder_s + 1
            clock["reorder_at_s"] = max(rounds * policy.reorder_s, np.nextafter(now_s, math.inf))
        if policy.rounds:
            assign_round(simulator, cluster, policy)
            continue
        slots = state.waiting[: clock["waiting"]].copy()
        order = ordering.of(slots, state.users, now_s)
        state.order[slots] = order
        tier = state.jobs["tier"][slots] if clock["preempts"] else None
        state.waiting[: len(slots)] = slots[sorted_again(slots, order, tier)]
        clock["ordered"], clock["grown"] = clock["arrived"], 1  # all are tried again
    return state


def _check_attributes(policy: BatchPolicy) -> None:
    name = type(policy).__name__
    if not isinstance(policy.backfill, Backfill):
        expected = ", ".join(f"Backfill.{each.name}" for each in Backfill)
        raise UserError(f"{name}.backfill: {policy.backfill!r}, expected one of {expected}")
    if not policy.reorder_s >= 1:
        raise UserError(f"{name}.reorder_s: {policy.reorder_s!r}, expected 1 s or more")
    if not 0 < policy.usage_half_life_s < math.inf:
        half_life_s = policy.usage_half_life_s
        raise UserError(f"{name}.usage_half_life_s: {half_life_s!r}, expected seconds above 0")


def _schedule(jobs: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    count = len(runs) - len(jobs)
    interrupted, last = runs.iloc[:count], runs.iloc[count:]
    last = last.set_index(jobs.index)
    wait_s, run_s = last["start_s"] - jobs["submit_s"], last["end_s"] - last["start_s"]
    start_s, energy_j = last["start_s"].copy(), last["energy_j"]
    startup_s, interruptions = last["startup_s"], pd.Series(0, jobs.index)
    if len(interrupted):
        of_job = interrupted.groupby("job")
        interruptions = of_job.size().reindex(jobs.index, fill_value=0)
        start_s.update(of_job["start_s"].min())
        before_s = (of_job["end_s"].sum() - of_job["start_s"].sum()).reindex(jobs.index).fillna(0.0)
        energy_j = energy_j + of_job["energy_j"].sum().reindex(jobs.index).fillna(0.0)
        startup_s = startup_s + of_job["startup_s"].sum().reindex(jobs.index).fillna(0.0)
        wait_s, run_s = wait_s - before_s, run_s + before_s
    schedule = jobs[["job", "name", "user", "queue", "submit_s"]].assign(
        start_s=start_s,
        end_s=last["end_s"],
        wait_s=wait_s.clip(lower=0.0),
        bounded_slowdown=bounded_slowdown(wait_s + run_s, jobs["run_s"]),
        node_type=last["node_type"],
        nodes=last["nodes"],
        parts=last["parts"],
        startup_s=startup_s,
        energy_j=energy_j,
        interruptions=interruptions,
    )
    return pd.DataFrame(schedule[BATCH_SCHEDULE.names])


def _pulls(runs: Runs, rows: NDArray[np.void], images: Mapping[str, ImageStart]) -> dict[str, int]:
    pulls = np.zeros(len(images), np.int64)
    image = rows["image"][runs["job"]]
    np.add.at(pulls, image[image != NIL], runs["pulls"][image != NIL])
    return dict(zip(images, pulls.tolist(), strict=True))


def _totals(
    schedule: pd.DataFrame,
    runs: Runs,
    s: BatchState,
    kinds: Kinds,
    cluster: Cluster,
    sleeps: tuple[Sleep | None, ...],
) -> dict[str, Any]:
    end_s = float(schedule["end_s"].max())
    makespan_s = end_s - float(schedule["submit_s"].min())
    run_s = runs["end_s"] - runs["start_s"]  # a job has its nodes while they wake up
    kind, parts = s.jobs["kind"][runs["job"]], runs["parts"]
    counts = np.array(cluster.counts)
    utilisation = {}
    for name, asked, field in (("cpu", "cpu", "cpu_milli"), ("gpu", "gpu", "gpu_milli")):
        whole = float(counts @ [float(getattr(each, field)) for each in cluster.node_types])
        busy = kinds.rows[asked][kind].astype(np.float64) * parts * run_s
        if whole > 0 and makespan_s > 0:
            utilisation[name] = float(busy.sum()) / (whole * makespan_s)
    of_type = cluster.type_of_node
    idle_w = np.array([node_type.idle_w for node_type in cluster.node_types])[of_type]
    idle_s = np.where(s.nodes["parts"] == 0, end_s - s.nodes["idle_s"], 0.0)
    after_s = s.types["sleep_after_s"][of_type]
    asleep_s = s.nodes["asleep_s"] + np.maximum(idle_s - after_s, 0.0)
    saved = np.array([1.0 - (each.power_share if each else 0.0) for each in sleeps])[of_type]
    away_s = _away_s(s, end_s)
    off_s = np.where(s.types["off"][of_type], asleep_s, 0.0)
    on_s = np.bincount(of_type, makespan_s - away_s - off_s)
    return {
        "hours_on": {
            each.name: float(hours)
            for each, hours in zip(cluster.node_types, on_s / 3600, strict=True)
        },
        "makespan_s": makespan_s,
        "utilisation": utilisation,
        "idle_energy_j": float(idle_w @ (makespan_s - away_s - saved * asleep_s)),
        "active_energy_j": float(schedule["energy_j"].sum()),
    }


def _away_s(s: BatchState, end_s: float) -> NDArray[np.float64]:
    """Return how long each node was reclaimed, up to the last end of a job."""
    stand_ins = s.jobs[int(s.clock[0]["submissions"]) :]
    away_s: NDArray[np.float64] = s.nodes["reclaimed_s"].copy()
    if len(stand_ins):
        away_s -= np.maximum(np.nan_to_num(stand_ins["end_s"]) - end_s, 0.0)
    return away_s


def _stuck(jobs: pd.DataFrame, s: BatchState) -> UserError:
    job = jobs.iloc[int(s.progress["interruptions"].argmax())]
    return UserError(
        f"job {job['name']}, of {job['run_s']:,.0f} s, was interrupted {MOST_INTERRUPTIONS:,} times"
        " and does not end; expected a lower rate of --spot, or a shorter --checkpoint interval"
    )
