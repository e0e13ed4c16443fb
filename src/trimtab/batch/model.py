"""The arrays of the simulator for the jobs of an operator on a cluster."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.images import ImageStart, image_arrays
from trimtab.batch.interruptions.checkpoints import has_checkpoints, progress_of
from trimtab.batch.kernel import layout
from trimtab.batch.kernel.layout import NIL, NO_CAP, WHOLE_GPU, BatchState
from trimtab.batch.nodes import has_gpu_type
from trimtab.batch.policies.base import BatchPolicy, answers
from trimtab.batch.power import cores_power_of_parts, milliwatts, node_power, power_of_parts
from trimtab.batch.sleep import Sleep
from trimtab.batch.throughputs import Throughputs
from trimtab.clusters.cluster import Cluster, NodeType
from trimtab.errors import UserError

_SPACE = 1024


class Kinds(NamedTuple):
    """The kinds of parts of some jobs, and what they are on each node type: [kind, type].

    `of_job` is the kind of each job, `rows` the demands. `slowdown` is the run time relative to the
    recorded one, infinite where no part fits. `power_w`: of one part, above idle; `cores_w`: of
    its cores alone. `most_parts`: that fit the empty nodes of the type.
    """

    of_job: NDArray[np.int64]
    rows: NDArray[np.void]
    slowdown: NDArray[np.float64]
    power_w: NDArray[np.float64]
    cores_w: NDArray[np.float64]
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


def reference_speed(
    cluster: Cluster, speeds: NDArray[np.float64], gpu_type: str, run_gpu_type: str
) -> float:
    """Return the speed, of `speeds_of`, that a recorded run time is of; NaN if no type fits.

    It is that of the first node type of the GPUs that the job ran on, else of those it asked for.
    """
    for name in (run_gpu_type or gpu_type, gpu_type):
        for node_type, speed in zip(cluster.node_types, speeds, strict=True):
            if has_gpu_type(node_type, name) and np.isfinite(speed):
                return float(speed)
    return np.nan


def kinds_of(jobs: pd.DataFrame, cluster: Cluster, throughputs: Throughputs | None = None) -> Kinds:
    """Return the kinds of parts of `jobs` (BATCH_JOBS).

    A share of more than one GPU is rounded up to whole ones, and each part has a thousandth of a
    core or more. Run times are of `reference_speed`. Jobs whose model is in `throughputs` are as
    fast as it says, and run on the types that it has.
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
            "run_gpu_type": jobs["run_gpu_type"].astype(str).str.lower().to_numpy(),
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
    slowdown, power_w, cores_w = np.full(shape, np.inf), np.zeros(shape), np.zeros(shape)
    most_parts = np.zeros(shape, np.int64)
    for number, (node_type, count) in enumerate(
        zip(cluster.node_types, cluster.counts, strict=True)
    ):
        power_w[:, number] = power_of_parts(rows, node_type, -1)
        cores_w[:, number] = cores_power_of_parts(rows, node_type, -1)
        most_parts[:, number] = count * _parts_of_a_node(rows, node_type)
    for on_gpus in (False, True):
        speeds = speeds_of(cluster, on_gpus)
        of_these = (rows["gpu"] > 0) == on_gpus
        types = zip(distinct["gpu_type"], distinct["run_gpu_type"], strict=True)
        for name, ran_on in sorted(set(types)):
            fits = [has_gpu_type(node_type, name) for node_type in cluster.node_types]
            able = np.array(fits) & np.isfinite(speeds)
            reference = reference_speed(cluster, speeds, name, ran_on)
            own = (distinct["gpu_type"] == name) & (distinct["run_gpu_type"] == ran_on)
            slowdown[of_these & own.to_numpy()] = np.where(able, reference / speeds, np.inf)
    if throughputs is not None:
        throughputs.apply(slowdown, distinct, rows["gpu"] > 0, cluster)
    slowdown[most_parts == 0] = np.inf
    return Kinds(of_job, rows, slowdown, power_w, cores_w, most_parts)


def with_room(jobs: pd.DataFrame, kinds: Kinds) -> NDArray[np.bool_]:
    """Return which jobs have room on the empty nodes of one type."""
    most = np.where(np.isfinite(kinds.slowdown), kinds.most_parts, 0).max(axis=1)
    room: NDArray[np.bool_] = jobs["least_parts"].to_numpy(np.int64) <= most[kinds.of_job]
    return room


def at_levels(kinds: Kinds, cluster: Cluster, policy: BatchPolicy) -> Kinds:
    """Return kinds at the levels of frequency, or of power, that a policy chooses.

    Raises UserError unless it chooses a level that there is for each kind on each node type.
    """
    most = max(len(node_type.levels) for node_type in cluster.node_types)
    slowdown = np.full((*kinds.slowdown.shape, most), np.inf)
    power_w, cores_w = np.zeros_like(slowdown), np.zeros_like(slowdown)
    for number, node_type in enumerate(cluster.node_types):
        for level, at_level in enumerate(node_type.levels):
            relative = node_type.levels[-1].speed / at_level.speed
            # The levels of a node with GPUs are theirs.
            concerned = (kinds.rows["gpu"] > 0) | (node_type.gpu_milli == 0)
            slowdown[:, number, level] = kinds.slowdown[:, number] * np.where(
                concerned, relative, 1.0
            )
            power_w[:, number, level] = power_of_parts(kinds.rows, node_type, level)
            cores_w[:, number, level] = cores_power_of_parts(kinds.rows, node_type, level)
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
        cores_w=np.take_along_axis(cores_w, at, 2)[..., 0],
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
    jobs: pd.DataFrame,
    kinds: Kinds,
    cluster: Cluster,
    policy: BatchPolicy,
    sleeps: Sequence[Sleep | None],
    cap_w: float | None,
    images: Mapping[str, ImageStart],
    interrupts: bool,
) -> BatchState:
    """Return the arrays for jobs that all have room, and power, on the empty cluster.

    `sleeps` is of each node type; `interrupts`: jobs may be interrupted. With a cap of power, all
    nodes sleep in the beginning that can.
    """
    count, types = len(jobs), len(cluster.node_types)
    clock = np.zeros(1, layout.CLOCK)
    clock["backfill"], clock["half_life_s"] = int(policy.backfill), policy.usage_half_life_s
    clock["reorder_at_s"], clock["head"], clock["shadow_type"] = np.inf, NIL, NIL
    clock["claimant"] = NIL
    clock["free"], clock["reclaim_at_s"], clock["link_bytes_per_s"] = NIL, np.inf, np.inf
    clock["submissions"] = clock["unfinished"] = count
    clock["interrupts"] = interrupts or has_checkpoints(jobs).any()
    progress = progress_of(jobs if clock["interrupts"] else jobs[:0])  # else nobody reads it
    clock["rounds"] = policy.rounds
    rows = np.zeros(count, layout.JOB)
    for name in ("submit_s", "run_s"):
        rows[name] = jobs[name]
    estimate_s = jobs["estimate_s"].to_numpy(np.float64)
    rows["estimate_s"] = np.fmax(estimate_s, rows["run_s"])
    rows["kind"], rows["parts"] = kinds.of_job, jobs["least_parts"]
    rows["recorded_parts"] = jobs["parts"]
    for name in ("least_parts", "most_parts", "serial_share"):
        rows[name] = jobs[name]
    rows["image"] = NIL
    if images:
        # NIL where it is not in them.
        rows["image"] = pd.Index(list(images)).get_indexer(pd.Index(jobs["image"]))
    rows["user"] = pd.factorize(jobs["user"])[0]
    rows["share"] = shares(rows, kinds, cluster)
    rows["first"], rows["start_s"] = NIL, np.nan
    nodes = cluster.size
    most_gpus = max(node_type.gpu_milli for node_type in cluster.node_types) // WHOLE_GPU
    free = np.zeros((nodes, layout.GPUS + most_gpus), np.int64)
    of_types = np.zeros(types, layout.TYPE)
    of_types["nodes"] = cluster.counts
    of_types["first_node"] = np.cumsum(cluster.counts) - cluster.counts
    of_types["lowest"] = of_types["first_node"]
    of_types["version"] = 1
    of_types["sleep_after_s"] = [np.inf if each is None else each.after_s for each in sleeps]
    of_types["wake_s"] = [0.0 if each is None else each.wake_s for each in sleeps]
    of_types["off"] = [each is not None and each.off for each in sleeps]
    begins_asleep = np.array(
        [each is not None and each.off and not each.begins_on for each in sleeps]
    )
    if cap_w is not None:
        begins_asleep |= np.isfinite(of_types["sleep_after_s"])
    of_nodes = _idle_nodes(of_types, begins_asleep, float(jobs["submit_s"].min()))
    power = node_power(cluster, sleeps)
    of_types["saved_mw"] = power.saved_mw
    clock["held_mw"] = power.least_mw
    clock["power_mw"] = power.least_mw + power.counts @ np.where(begins_asleep, 0, power.saved_mw)
    clock["peak_mw"] = clock["power_mw"]
    clock["cap_mw"] = NO_CAP if cap_w is None else int(cap_w * 1000)
    for of_type, node_type in zip(of_types, cluster.node_types, strict=True):
        own = free[of_type["first_node"] :][: of_type["nodes"]]
        own[:, layout.CPU], own[:, layout.MEMORY] = node_type.cpu_milli, node_type.memory_bytes
        own[:, layout.GPUS : layout.GPUS + node_type.gpu_milli // WHOLE_GPU] = WHOLE_GPU
        for name, field in (("cpu", "cpu_milli"), ("memory", "memory_bytes"), ("gpu", "gpu_milli")):
            of_type[name] = getattr(node_type, field) * of_type["nodes"]
    sites = np.zeros(kinds.slowdown.shape, layout.SITE)
    sites["slowdown"], sites["most_parts"] = kinds.slowdown, kinds.most_parts
    sites["part_mw"] = milliwatts(kinds.power_w)
    of_images = image_arrays(images)
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
        np.zeros((types + 1, 0), layout.STEP),
        np.ones(types + 1, np.int64),
        *of_images,
        np.full((nodes, len(of_images.layer_bytes)), np.inf),
        progress,
        np.zeros(0, layout.RUN),
        free.copy(),
        np.zeros(free.shape[1], np.int64),
        np.full(count, np.inf),
        np.zeros(count, np.int64),
        np.zeros(0, layout.GROUP),
        *(np.zeros(0, np.int64) for _ in range(3)),
    )
    state = with_space(state)
    for name in ("cpu", "memory", "gpu"):
        state.profile[name][:types, 0] = of_types[name]
    state.profile["power"][types, 0] = clock["cap_mw"][0] - clock["held_mw"][0]
    return state


def _idle_nodes(
    of_types: NDArray[np.void], asleep: NDArray[np.bool_], begin_s: float
) -> NDArray[np.void]:
    """Return nodes that are idle since the beginning, or `asleep`, and list the idle ones."""
    nodes = np.zeros(int(of_types["nodes"].sum()), layout.NODE)
    nodes["idle_s"] = begin_s
    of_types["first_idle"] = of_types["last_idle"] = NIL
    for of_type, sleeps in zip(of_types, asleep, strict=True):
        first, last = of_type["first_node"], of_type["first_node"] + of_type["nodes"] - 1
        own = nodes[first : last + 1]
        if sleeps:
            own["asleep"], own["idle_s"] = 1, begin_s - of_type["sleep_after_s"]
        elif np.isfinite(of_type["sleep_after_s"]):
            own["idle_before"] = np.arange(first - 1, last)
            own["idle_after"] = np.arange(first + 1, last + 2)
            own["idle_before"][0] = own["idle_after"][-1] = NIL
            of_type["first_idle"], of_type["last_idle"] = first, last
    return nodes


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
        max(_SPACE, 2 * before, before + int(s.jobs["most_parts"].max(initial=1))),
        layout.ALLOCATION,
    )
    rows[:before] = s.allocations
    rows["next"][before:] = np.arange(before + 1, len(rows) + 1)
    rows["next"][-1] = clock["free"]
    clock["free"], clock["space"] = before, clock["space"] + len(rows) - before
    steps = max(_SPACE, 2 * s.profile.shape[1])
    profile = np.zeros((len(s.steps), steps), layout.STEP)
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
