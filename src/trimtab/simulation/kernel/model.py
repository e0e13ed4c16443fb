"""A cluster, job classes and a policy as the kernel's arrays."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.cluster import Cluster, JobClass
from trimtab.errors import UserError
from trimtab.policies import layout
from trimtab.policies.base import Policy
from trimtab.policies.layout import INFINITY, NIL, KernelModel, KernelState
from trimtab.simulation.resampling import ServiceTimes

# Attributes of every policy, with the same names in the rules.
_OF_EVERY_POLICY = (
    "level", "by_priority", "head_of_line", "evicts", "resumes", "resamples",
    "free_migration", "restarts_moved", "hold_when_pending", "tick_s", "sprint_level", "budget_s",
    "replenish_s_per_s",
)  # fmt: skip


def class_tables(
    cluster: Cluster, job_classes: Sequence[JobClass]
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """Return SERVICE_RATE [class, type, level] and CLASS_ON_TYPE [class, type], unpredicted."""
    types = cluster.node_types
    most = max(len(node_type.levels) for node_type in types)
    paces = np.zeros((len(job_classes), len(types), most), layout.SERVICE_RATE)
    sites = np.zeros(paces.shape[:2], layout.CLASS_ON_TYPE)
    for column, node_type in enumerate(types):
        name, bytes_per_s = node_type.name, node_type.network_bytes_per_s
        slowdown = np.array(
            [kind.slowdown.get(name, 1.0) * kind.protected(name) for kind in job_classes]
        )
        for number, level in enumerate(node_type.levels):
            pace = paces[:, column, number]
            pace["speed"] = level.speed / slowdown
            measured = (kind.active_w.get(name) for kind in job_classes)
            pace["watts"] = [level.active_w if not own else own[number] for own in measured]
            pace["gpu_watts"] = level.gpu_active_w
        site = sites[:, column]
        site["runs"] = [kind.runs_on(name) for kind in job_classes]
        site["pull_s"] = np.array([kind.image_bytes for kind in job_classes]) / bytes_per_s
        site["pause_s"] = np.array([kind.state_bytes or 0 for kind in job_classes]) / bytes_per_s
    return paces, sites


def outage_events(cluster: Cluster) -> NDArray[np.void]:
    """Return failures and returns by time, then returns first, then by node."""
    events = [(outage.down_s, outage.node, 0) for outage in cluster.outages]
    events += [
        (outage.up_s, outage.node, 1) for outage in cluster.outages if outage.up_s < INFINITY
    ]
    return np.array(
        sorted(events, key=lambda event: (event[0], -event[2], event[1])), layout.OUTAGE
    )


def _rules(policy: Policy, allocations: bool) -> NDArray[np.void]:
    rules = np.zeros(1, layout.RULES)
    rules["placement"] = policy.placement_rule
    for name in _OF_EVERY_POLICY:
        rules[name] = getattr(policy, name)
    rules["records_allocations"] = allocations
    return rules


def build_model(
    cluster: Cluster,
    job_classes: Sequence[JobClass],
    policy: Policy,
    allocations: bool,
    service_times: ServiceTimes,
) -> KernelModel:
    """Return the kernel's constants, for a policy that has a `placement_rule`.

    Raises UserError for a policy made for another cluster or other classes.
    """
    types = cluster.node_types
    paces, sites = class_tables(cluster, job_classes)
    kinds = np.zeros(len(types), layout.KIND)
    kinds["levels"] = [len(node_type.levels) for node_type in types]
    kinds["linear"] = [not node_type.load_curve for node_type in types]
    kinds["gpu_slices"] = [node_type.gpu_slices for node_type in types]
    kinds["nodes"] = cluster.counts
    kinds["first_node"] = np.cumsum(cluster.counts) - cluster.counts
    kinds["leaves"] = [1 << (count - 1).bit_length() for count in cluster.counts]
    kinds["tree"] = np.cumsum(2 * kinds["leaves"]) - 2 * kinds["leaves"]
    unknown = sorted(set(policy.timeout_s) - {job_class.name for job_class in job_classes})
    if unknown:
        raise UserError(f"timeout_s: unknown job classes {unknown}")
    classes = np.zeros(len(job_classes), layout.JOB_CLASS)
    classes["cold_start_s"] = [job_class.cold_start_s for job_class in job_classes]
    classes["sprint_after_s"] = [policy.timeout_s.get(kind.name, INFINITY) for kind in job_classes]
    curves = [node_type.load_curve or np.linspace(0, 1, 11) for node_type in types]
    model = KernelModel(
        _rules(policy, allocations),
        kinds,
        classes,
        sites,
        paces,
        np.array(curves, float),
        outage_events(cluster),
        *service_times,
    )
    policy.fill_kernel(model)
    return model


def build_state(
    m: KernelModel, cluster: Cluster, slots: int, sample_s: float, maintain_s: float
) -> KernelState:
    """Return an empty cluster at time 0, with room for `slots` jobs in the system."""
    nodes = np.zeros(cluster.size, layout.NODE)
    nodes["type"], nodes["up"] = cluster.type_of_node, 1
    for name, field in (("cpu", "cpu_milli"), ("gpu", "gpu_milli"), ("memory", "memory_bytes")):
        sizes = np.array([getattr(node_type, field) for node_type in cluster.node_types])
        nodes[name] = nodes[f"free_{name}"] = sizes[nodes["type"]]
    nodes["largest_gpu"], nodes["factor"] = nodes["gpu"], 1.0
    on_node = nodes["gpu"] // layout.WHOLE_GPU
    has_gpu = np.arange(on_node.max()) < on_node[:, np.newaxis]
    tree = np.full(int(2 * m.kinds["leaves"].sum()), -1, layout.FREE)
    for kind, count in enumerate(cluster.counts):
        begin, leaves, first = (m.kinds[kind][name] for name in ("tree", "leaves", "first_node"))
        for name in ("cpu", "gpu", "memory"):
            of_type = nodes[f"free_{name}"][first : first + count]
            tree[name][begin + leaves : begin + leaves + count] = of_type
            for at in range(leaves - 1, 0, -1):
                tree[name][begin + at] = tree[name][begin + 2 * at : begin + 2 * at + 2].max()
    clock = np.zeros(1, layout.CLOCK)
    clock["tick_s"], clock["sample_s"], clock["maintain_s"] = (
        m.rules["tick_s"],
        sample_s,
        maintain_s,
    )
    clock["budget_s"], clock["empty_s"] = m.rules["budget_s"], INFINITY
    clock["first_running"] = clock["last_running"] = clock["free_slot"] = NIL
    images = np.ascontiguousarray((m.sites["pull_s"] == 0.0)[:, nodes["type"]])
    state = KernelState(
        clock,
        np.zeros(0, layout.JOB),
        np.zeros(0, layout.HEAP),
        nodes,
        np.where(has_gpu, m.kinds["gpu_slices"][nodes["type"]][:, np.newaxis], 0),
        tree,
        np.zeros(0, layout.SHAPE),
        np.zeros(2, layout.QUEUE),
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
        np.zeros(cluster.size, np.int64),
        np.zeros((cluster.size, 2), np.int64),
        np.zeros(64, np.int64),  # more than the depth of a tree
        images,
        np.where(m.sites["pull_s"] == 0.0, 0, m.kinds["nodes"]),
        np.zeros((len(m.kinds), 3), np.int64),
    )
    return with_slots(state, slots)


def with_slots(s: KernelState, slots: int) -> KernelState:
    """Return `s` with room for `slots` jobs in the system, more than before."""
    before = len(s.jobs)
    jobs = np.zeros(slots, layout.JOB)
    jobs[:before] = s.jobs
    heap = np.zeros(slots, layout.HEAP)
    heap[:before] = s.heap
    jobs["after"][before:] = np.arange(before + 1, slots + 1)
    jobs["after"][-1] = s.clock["free_slot"][0]
    s.clock["free_slot"] = before
    return s._replace(jobs=jobs, heap=heap)
