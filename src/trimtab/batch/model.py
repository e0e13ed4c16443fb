"""The arrays of the simulator for the jobs of an operator on a cluster."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.checkpoints import progress_of
from trimtab.batch.kernel import layout
from trimtab.batch.kernel.layout import NIL, WHOLE_GPU, BatchState
from trimtab.batch.nodes import has_gpu_type
from trimtab.batch.policies.base import BatchPolicy, answers
from trimtab.batch.throughputs import Throughputs
from trimtab.clusters.cluster import Cluster, NodeType
from trimtab.errors import UserError

_SPACE = 1024


class Sleep(NamedTuple):
    """Idle nodes sleep after `after_s`, draw a share of their idle power, and wake in `wake_s`."""

    after_s: float
    wake_s: float = 120.0
    power_share: float = 0.05


class Kinds(NamedTuple):
    """The kinds of parts of some jobs, and what they are on each node type: [kind, type].

    `of_job` is the kind of each job, `rows` the demands. `slowdown` is the run time relative to the
    recorded one, infinite where no part fits. `power_w`: of one part, above idle. `most_parts`:
    that fit the empty nodes of the type.
    """

    of_job: NDArray[np.int64]
    rows: NDArray[np.void]
    slowdown: NDArray[np.float64]
    power_w: NDArray[np.float64]
    most_parts: NDArray[np.int64]


def speeds_of(cluster: Cluster, on_gpus: bool) -> NDArray[np.float64]:
    """Return the speed of each node type for parts with GPUs (NaN: it has none), or without.

    The speed of a node with GPUs is that of its GPUs. Parts without run there as on the first type
    without GPUs.
    """
    speeds = np.array([node_type.levels[-1].speed for node_type in cluster.node_types])
    has_gpus = np.array([node_type.gpu_milli > 0 for node_type in cluster.node_types])
    if on_gpus:
        return np.where(has_gpus, speeds, np.nan)
    reference = 1.0 if has_gpus.all() else speeds[np.argmin(has_gpus)]
    return np.where(has_gpus, reference, speeds)


def kinds_of(jobs: pd.DataFrame, cluster: Cluster, throughputs: Throughputs | None = None) -> Kinds:
    """Return the kinds of parts of `jobs` (BATCH_JOBS).

    A share of more than one GPU is rounded up to whole ones, and each part has a thousandth of a
    core or more. The reference of a run time is the first node type that has the job's gpu_type;
    for any, the first that has GPUs, or for a job without GPUs the first without. Jobs whose model
    is in `throughputs` are as fast as it says, and run on the types that it has.
    """
    gpu = jobs["gpu_milli"].to_numpy(np.int64)
    modelled = throughputs is not None
    demands = pd.DataFrame(
        {
            "cpu": np.maximum(jobs["cpu_milli"].to_numpy(np.int64), 1),
            "memory": jobs["memory_bytes"].to_numpy(np.int64),
            "gpu": np.where(gpu > WHOLE_GPU, -(-gpu // WHOLE_GPU) * WHOLE_GPU, gpu),
            "distinct": jobs["distinct"].to_numpy(bool).astype(np.int64),
            "gpu_type": jobs["gpu_type"].astype(str).str.lower().to_numpy(),
            "model": jobs["model"].astype(str).to_numpy() if modelled else "",
        }
    )
    groups = demands.groupby(list(demands.columns), sort=True)
    of_job = np.asarray(groups.ngroup(), np.int64)
    distinct = groups.size().reset_index()
    rows = np.zeros(len(distinct), layout.KIND)
    for name in ("cpu", "memory", "gpu", "distinct"):
        rows[name] = distinct[name]
    shape = (len(rows), len(cluster.node_types))
    slowdown, power_w = np.full(shape, np.inf), np.zeros(shape)
    most_parts = np.zeros(shape, np.int64)
    for number, (node_type, count) in enumerate(
        zip(cluster.node_types, cluster.counts, strict=True)
    ):
        power_w[:, number] = _power_w(rows, node_type, -1)
        most_parts[:, number] = count * _parts_of_a_node(rows, node_type)
    for on_gpus in (False, True):
        speeds = speeds_of(cluster, on_gpus)
        of_these = (rows["gpu"] > 0) == on_gpus
        for name in distinct["gpu_type"].unique():
            fits = [has_gpu_type(node_type, name) for node_type in cluster.node_types]
            able = np.array(fits) & np.isfinite(speeds)
            if able.any():
                relative = np.where(able, speeds[np.argmax(able)] / speeds, np.inf)
                slowdown[of_these & (distinct["gpu_type"] == name).to_numpy()] = relative
    if throughputs is not None:
        throughputs.apply(slowdown, distinct["model"], rows["gpu"] > 0, cluster)
    slowdown[most_parts == 0] = np.inf
    return Kinds(of_job, rows, slowdown, power_w, most_parts)


def with_room(jobs: pd.DataFrame, kinds: Kinds) -> NDArray[np.bool_]:
    """Return which jobs have room on the empty nodes of one type."""
    most = np.where(np.isfinite(kinds.slowdown), kinds.most_parts, 0).max(axis=1)
    room: NDArray[np.bool_] = jobs["parts"].to_numpy(np.int64) <= most[kinds.of_job]
    return room


def _power_w(rows: NDArray[np.void], node_type: NodeType, level: int) -> NDArray[np.float64]:
    at_level = node_type.levels[level]
    cores_w = at_level.active_w * rows["cpu"] / node_type.cpu_milli
    watts: NDArray[np.float64] = cores_w + at_level.gpu_active_w * rows["gpu"] / WHOLE_GPU
    return watts


def at_levels(kinds: Kinds, cluster: Cluster, policy: BatchPolicy) -> Kinds:
    """Return kinds at the levels of frequency, or of power, that a policy chooses.

    Raises UserError unless it chooses a level that there is for each kind on each node type.
    """
    most = max(len(node_type.levels) for node_type in cluster.node_types)
    slowdown = np.full((*kinds.slowdown.shape, most), np.inf)
    power_w = np.zeros_like(slowdown)
    for number, node_type in enumerate(cluster.node_types):
        for level, at_level in enumerate(node_type.levels):
            relative = node_type.levels[-1].speed / at_level.speed
            # The levels of a node with GPUs are theirs.
            concerned = (kinds.rows["gpu"] > 0) | (node_type.gpu_milli == 0)
            slowdown[:, number, level] = kinds.slowdown[:, number] * np.where(
                concerned, relative, 1.0
            )
            power_w[:, number, level] = _power_w(kinds.rows, node_type, level)
    able = np.isfinite(slowdown)
    energy_j = np.where(able, power_w * np.where(able, slowdown, 0.0), np.inf)
    with answers(policy, "level"):
        chosen = policy.level(slowdown, energy_j)
    if chosen is None:
        return kinds
    chosen = np.asarray(chosen)
    counts = np.array([len(node_type.levels) for node_type in cluster.node_types])
    if (
        chosen.shape != kinds.slowdown.shape
        or not np.issubdtype(chosen.dtype, np.integer)
        or (chosen < 0).any()
        or (chosen >= counts).any()
    ):
        raise UserError(
            f"{type(policy).__name__}.level: expected a whole number from 0 for each kind of job "
            f"and node type, {kinds.slowdown.shape}, below the levels there are: {counts.tolist()}"
        )
    at = chosen[..., np.newaxis]
    return kinds._replace(
        slowdown=np.take_along_axis(slowdown, at, 2)[..., 0],
        power_w=np.take_along_axis(power_w, at, 2)[..., 0],
    )


def _parts_of_a_node(rows: NDArray[np.void], node_type: NodeType) -> NDArray[np.int64]:
    parts = node_type.cpu_milli // rows["cpu"]
    asks = rows["memory"] > 0
    parts[asks] = np.minimum(parts, node_type.memory_bytes // np.maximum(rows["memory"], 1))[asks]
    gpus, gpu = node_type.gpu_milli // WHOLE_GPU, np.maximum(rows["gpu"], 1)
    on_gpus = np.where(gpu >= WHOLE_GPU, gpus * WHOLE_GPU // gpu, gpus * (WHOLE_GPU // gpu))
    parts = np.where(rows["gpu"] > 0, np.minimum(parts, on_gpus), parts)
    return np.where(rows["distinct"] > 0, np.minimum(parts, 1), parts)


def build_state(
    jobs: pd.DataFrame, kinds: Kinds, cluster: Cluster, policy: BatchPolicy, sleep: Sleep | None
) -> BatchState:
    """Return the arrays for jobs that all have room on the empty cluster."""
    count, types = len(jobs), len(cluster.node_types)
    clock = np.zeros(1, layout.CLOCK)
    clock["backfill"], clock["half_life_s"] = int(policy.backfill), policy.usage_half_life_s
    clock["reorder_at_s"], clock["head"], clock["shadow_type"] = np.inf, NIL, NIL
    clock["free"], clock["reclaim_at_s"] = NIL, np.inf
    clock["submissions"] = clock["unfinished"] = count
    progress = progress_of(jobs)
    clock["interrupts"] = policy.rounds or progress["saves"].any()
    clock["rounds"] = policy.rounds
    rows = np.zeros(count, layout.JOB)
    for name in ("submit_s", "run_s"):
        rows[name] = jobs[name]
    estimate_s = jobs["estimate_s"].to_numpy(np.float64)
    rows["estimate_s"] = np.fmax(estimate_s, rows["run_s"])
    rows["kind"], rows["parts"] = kinds.of_job, jobs["parts"]
    rows["user"] = pd.factorize(jobs["user"])[0]
    rows["share"] = shares(rows, kinds, cluster)
    rows["order"], rows["first"], rows["start_s"] = np.inf, NIL, np.nan
    nodes = cluster.size
    of_nodes = np.zeros(nodes, layout.NODE)
    of_nodes["idle_s"] = jobs["submit_s"].min()
    most_gpus = max(node_type.gpu_milli for node_type in cluster.node_types) // WHOLE_GPU
    free = np.zeros((nodes, layout.GPUS + most_gpus), np.int64)
    of_types = np.zeros(types, layout.TYPE)
    of_types["nodes"] = cluster.counts
    of_types["first_node"] = np.cumsum(cluster.counts) - cluster.counts
    of_types["lowest"] = of_types["first_node"]
    of_types["version"] = 1
    of_types["sleep_after_s"] = np.inf if sleep is None else sleep.after_s
    of_types["wake_s"] = 0.0 if sleep is None else sleep.wake_s
    for of_type, node_type in zip(of_types, cluster.node_types, strict=True):
        own = free[of_type["first_node"] :][: of_type["nodes"]]
        own[:, layout.CPU], own[:, layout.MEMORY] = node_type.cpu_milli, node_type.memory_bytes
        own[:, layout.GPUS : layout.GPUS + node_type.gpu_milli // WHOLE_GPU] = WHOLE_GPU
        for name, field in (("cpu", "cpu_milli"), ("memory", "memory_bytes"), ("gpu", "gpu_milli")):
            of_type[name] = getattr(node_type, field) * of_type["nodes"]
    sites = np.zeros(kinds.slowdown.shape, layout.SITE)
    sites["slowdown"], sites["most_parts"] = kinds.slowdown, kinds.most_parts
    state = BatchState(
        clock,
        rows,
        kinds.rows,
        of_types,
        sites,
        _preferred(kinds, cluster, policy),
        np.zeros(int(rows["user"].max(initial=0)) + 1, layout.USER),
        of_nodes,
        free,
        free.copy(),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.zeros((nodes, 2), np.int64),
        np.zeros(0, layout.ALLOCATION),
        np.zeros((types, 0), layout.STEP),
        np.ones(types, np.int64),
        progress,
        np.zeros(0, layout.RUN),
    )
    state = with_space(state)
    for name in ("cpu", "memory", "gpu"):
        state.profile[name][:, 0] = of_types[name]
    return state


def shares(rows: NDArray[np.void], kinds: Kinds, cluster: Cluster) -> NDArray[np.float64]:
    """Return the largest share of the cluster's cores, GPUs or memory that each job asks for."""
    largest = np.zeros(len(rows))
    counts = np.array(cluster.counts)
    for name, field in (("cpu", "cpu_milli"), ("gpu", "gpu_milli"), ("memory", "memory_bytes")):
        whole = float(
            counts @ [float(getattr(node_type, field)) for node_type in cluster.node_types]
        )
        if whole > 0:
            asked = kinds.rows[name][rows["kind"]].astype(np.float64) * rows["parts"]
            largest = np.maximum(largest, asked / whole)
    return largest


def with_space(s: BatchState) -> BatchState:
    """Return `s` with more space for allocations, the profile and interrupted runs."""
    clock, before = s.clock[0], len(s.allocations)
    rows = np.zeros(
        max(_SPACE, 2 * before, before + int(s.jobs["parts"].max(initial=1))), layout.ALLOCATION
    )
    rows[:before] = s.allocations
    rows["next"][before:] = np.arange(before + 1, len(rows) + 1)
    rows["next"][-1] = clock["free"]
    clock["free"], clock["space"] = before, clock["space"] + len(rows) - before
    steps = max(_SPACE, 2 * s.profile.shape[1])
    profile = np.zeros((len(s.types), steps), layout.STEP)
    profile[:, : s.profile.shape[1]] = s.profile
    runs = np.zeros(max(_SPACE, 2 * len(s.runs)) + int(clock["running"]), layout.RUN)
    runs[: len(s.runs)] = s.runs
    return s._replace(allocations=rows, profile=profile, runs=runs)


def _preferred(kinds: Kinds, cluster: Cluster, policy: BatchPolicy) -> NDArray[np.int64]:
    """Return the node types that can run each kind, the cheapest first."""
    able = np.isfinite(kinds.slowdown)
    energy_j = kinds.power_w * np.where(able, kinds.slowdown, 0.0)
    with answers(policy, "cost"):
        cost = policy.cost(kinds.slowdown, np.where(able, energy_j, np.inf), cluster)
    if cost is None:
        cost = np.broadcast_to(np.arange(kinds.slowdown.shape[1]), kinds.slowdown.shape)
    cost = np.asarray(cost, np.float64)
    if cost.shape != able.shape or np.isnan(cost[able]).any():
        raise UserError(
            f"{type(policy).__name__}.cost: expected a number for each kind of job and node type, "
            f"{able.shape}; the shape is {cost.shape}"
        )
    ranked = np.argsort(np.where(able, cost, np.inf), axis=1, kind="stable")
    preferred: NDArray[np.int64] = np.where(np.take_along_axis(able, ranked, axis=1), ranked, NIL)
    return preferred
