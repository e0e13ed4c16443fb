"""Simulate a trace on a cluster under a policy."""

import copy
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from trimtab.clusters.cluster import Cluster, JobClass, check_classes
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.layout import INFINITY
from trimtab.records.parquet.files import write_table
from trimtab.records.summary import Simulator
from trimtab.records.tables import NODES, TRACE
from trimtab.simulation.arrivals import Arrivals
from trimtab.simulation.batches import End, Maintain, SimulationRequest
from trimtab.simulation.figures import FigureSums
from trimtab.simulation.kernel.driver import KernelSimulator
from trimtab.simulation.kernel.model import class_tables
from trimtab.simulation.prefetcher import Prefetcher
from trimtab.simulation.reference.simulator import ReferenceSimulator
from trimtab.simulation.resampling import NOTHING, service_times_of
from trimtab.simulation.result import (
    Files,
    Frames,
    Result,
    allocations_table,
    jobs_table,
    load_table,
)

Trace = pd.DataFrame | Path | Iterable[pd.DataFrame]
_CHUNK = 1 << 17


def simulate(
    cluster: Cluster,
    job_classes: Sequence[JobClass],
    trace: Trace,
    policy: Policy,
    *,
    seed: int = 0,
    folder: Path | None = None,
    keep_jobs: bool = True,
    keep_allocations: bool = True,
    sample_s: float | None = None,
    reference: bool = False,
) -> Result:
    """Simulate `trace` (tables.TRACE: a frame, a Parquet file, or chunks) under `policy`.

    A frame or a file is checked completely before the simulation begins; chunks are checked as they
    are read, once. With `folder` the tables are streamed to jobs, allocations, nodes and
    load.parquet in it, and memory holds only the jobs in the system; without, they are in the
    result. `keep_jobs` and `keep_allocations` can leave a table out. The load is sampled every
    `sample_s`. `seed` is for the task times of jobs of rounds.

    The simulator in C runs the policies with a `placement_rule`. All others, and all with
    `reference`, run in the plain simulator, which gives the same result and is slow.

    Raises UserError for an invalid trace, cluster or class. Warns when the offered load is above
    the cluster's capacity, and when jobs never found a place.
    """
    check_classes(cluster, job_classes)
    policy = copy.deepcopy(policy)  # policies may have state
    if policy.resamples and not isinstance(trace, pd.DataFrame | Path):
        trace = pd.concat(trace, ignore_index=True)  # draws are from all jobs
    service_times = NOTHING
    if isinstance(trace, pd.DataFrame | Path):
        checked = Arrivals(cluster, job_classes, policy.drop_ratio, seed)
        chunks = []
        for frame in _chunks(trace):
            chunk = checked.chunk(frame)
            if policy.resamples:
                chunks.append(chunk)
        if chunks:
            service_times = service_times_of(chunks, checked.shapes, len(job_classes))
        _warn_of_load(offered_loads(checked, policy.level))

    names = [job_class.name for job_class in job_classes]
    demand = SimulationRequest(
        sample_s or INFINITY, keep_allocations, policy.maintain_s, _maintenance(policy, names)
    )
    compiled = policy.placement_rule is not None and not reference
    arrivals = Arrivals(cluster, job_classes, policy.drop_ratio, seed, service_times=service_times)
    simulator = (KernelSimulator if compiled else ReferenceSimulator)(arrivals, policy, demand)
    sums, frames = FigureSums(names), Frames()
    kept = ["load", *["jobs"] * keep_jobs, *["allocations"] * keep_allocations]
    with ExitStack() as stack:
        sink = frames if folder is None else stack.enter_context(Files(folder, kept))
        # The kernel continues while its output is summed and written.
        for batch in stack.enter_context(Prefetcher(simulator.run(_chunks(trace)))):
            sums.add(batch.rows)
            if batch.load:
                sink.add("load", load_table(batch.load))
            if keep_jobs:
                sink.add("jobs", jobs_table(batch.rows, names))
            if keep_allocations:
                sink.add("allocations", allocations_table(batch.allocations))
    end, loads = simulator.end(), offered_loads(arrivals, policy.level)
    if not isinstance(trace, pd.DataFrame | Path):
        _warn_of_load(loads)
    nodes = _nodes(cluster, end)
    if end.unfinished:
        warnings.warn(f"{end.unfinished} jobs never found a place", stacklevel=2)
    if folder is not None:
        write_table(folder / "nodes.parquet", NODES, nodes)
    return Result(
        simulator=Simulator.KERNEL if compiled else Simulator.REFERENCE,
        events=end.events,
        offered_load=None if loads is None else max(loads.values()),
        classes=sums.classes(),
        total=sums.total(**_totals(nodes, end)),
        nodes=nodes,
        **frames.frames(),
    )


def offered_loads(arrivals: Arrivals, level: int = -1) -> dict[str, float] | None:
    """Return the load of each resource, 1 at the cluster's capacity; None if no time has passed.

    Resources are "cores", "GPUs" and "memory". An arrived job's load is its work times what it
    holds, divided by the capacity of all nodes for its class at `level` (negative: counted from the
    highest). Where one is above 1 the queue grows without bound under any placement. Below 1 it may
    do so too, where resources stay free because no job fits them.
    """
    cluster = arrivals.cluster
    span_s = arrivals.last_arrival_s - arrivals.first_arrival_s
    if not span_s > 0:
        return None
    paces, _ = class_tables(cluster, arrivals.job_classes)
    counts = [len(node_type.levels) for node_type in cluster.node_types]
    levels = [level + count if level < 0 else level for count in counts]
    speed = paces["speed"][:, np.arange(len(levels)), levels]
    sizes = [(kind.cpu_milli, kind.gpu_milli, kind.memory_bytes) for kind in cluster.node_types]
    capacity = speed @ (np.array(sizes, float) * np.array(cluster.counts)[:, np.newaxis])
    work = arrivals.work_by_class
    # Where there is no capacity there is no work: jobs that fit no node are refused.
    loads = np.divide(work, capacity, out=np.zeros_like(work), where=work > 0).sum(axis=0) / span_s
    return dict(zip(("cores", "GPUs", "memory"), loads.tolist(), strict=True))


def _chunks(trace: Trace) -> Iterator[pd.DataFrame]:
    if isinstance(trace, pd.DataFrame):
        for begin in range(0, len(trace), _CHUNK):
            yield trace[begin : begin + _CHUNK]
    elif isinstance(trace, Path):
        with pq.ParquetFile(trace) as file:
            if file.schema_arrow.names != TRACE.names:
                found = ", ".join(file.schema_arrow.names)
                raise UserError(f"{trace}: columns {found}; expected {', '.join(TRACE.names)}")
            for batch in file.iter_batches(_CHUNK):
                yield batch.to_pandas()
    else:
        yield from trace


def _warn_of_load(loads: Mapping[str, float] | None) -> None:
    if loads is None:
        return
    resource, load = max(loads.items(), key=lambda each: each[1])
    if load > 1:
        message = f"offered load {load:.3g} of {resource} is above the cluster's capacity"
        warnings.warn(f"{message}: the queue grows", stacklevel=3)


def _maintenance(policy: Policy, names: Sequence[str]) -> Maintain | None:
    """Return the maintenance function of the current policy; None if it has none."""
    if policy.maintain_s == INFINITY:
        return None

    def maintain(rows: NDArray[np.void], now_s: float) -> Policy | None:
        nonlocal policy
        policy = policy.maintain(jobs_table(rows, names).to_pandas(), now_s) or policy
        return policy

    return maintain


def _nodes(cluster: Cluster, end: End) -> pd.DataFrame:
    types = [cluster.node_types[kind] for kind in cluster.type_of_node]
    idle_w = np.array([node_type.idle_w for node_type in types])
    gpus = np.array([node_type.gpu_milli for node_type in types]) * 1e-3
    return pd.DataFrame(
        {
            "node": np.arange(cluster.size),
            "hardware": [node_type.name for node_type in types],
            "cpu_milli": [node_type.cpu_milli for node_type in types],
            "memory_bytes": [node_type.memory_bytes for node_type in types],
            "busy_core_s": end.busy_core_s,
            "down_s": end.down_s,
            "idle_energy_j": idle_w * (end.end_s - end.down_s),
            # Adding and subtracting power can round to just below 0.
            "active_energy_j": np.maximum(end.active_energy_j, 0.0),
            "busy_gpu_s": np.maximum(gpus * (end.end_s - end.down_s) - end.free_gpu_s, 0.0),
            "free_gpu_s": np.maximum(end.free_gpu_s, 0.0),
            "fragmented_gpu_s": np.maximum(end.fragmented_gpu_s, 0.0),
        }
    )


def _totals(nodes: pd.DataFrame, end: End) -> dict[str, float | None]:
    core_s = float((nodes["cpu_milli"] * 1e-3 * (end.end_s - nodes["down_s"])).sum())
    busy_gpu_s, free_gpu_s, fragmented_gpu_s = (
        float(nodes[name].sum()) for name in ("busy_gpu_s", "free_gpu_s", "fragmented_gpu_s")
    )
    return {
        "makespan_s": end.end_s,
        "utilisation": float(nodes["busy_core_s"].sum()) / core_s if core_s > 0 else 0.0,
        "gpu_utilisation": _share(busy_gpu_s, busy_gpu_s + free_gpu_s),
        "gpu_fragmentation": _share(fragmented_gpu_s, free_gpu_s),
        "idle_energy_j": float(nodes["idle_energy_j"].sum()),
        "active_energy_j": float(nodes["active_energy_j"].sum()),
        "unfinished": end.unfinished,
    }


def _share(part: float, whole: float) -> float | None:
    return min(part / whole, 1.0) if whole > 0 else None
