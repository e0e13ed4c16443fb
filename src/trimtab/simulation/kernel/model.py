"""A cluster, job classes and a policy as the kernel's arrays."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.cluster import Cluster, JobClass
from trimtab.clusters.layout import (
    CLOCK,
    FIRST_FIT,
    FREE,
    HEAP,
    HEATS,
    HEATS_AS_RELEASED,
    JOB,
    JOB_CLASS,
    KIND,
    KUBERNETES,
    NOBODY,
    NODE,
    OUTAGE,
    PACE,
    RULES,
    SHAPE,
    SITE,
    Model,
    State,
    never,
)
from trimtab.errors import UserError
from trimtab.policies.base import Policy
from trimtab.policies.dias import Dias
from trimtab.policies.fcfs import FirstComeFirstServed
from trimtab.policies.heats import Heats
from trimtab.policies.heats_as_released import HeatsAsReleased
from trimtab.policies.kubernetes import Kubernetes
from trimtab.policies.priority import Priority

# Exact types: a subclass may decide otherwise, and only the reference asks it.
_PLACEMENTS: dict[type[Policy], int] = {
    FirstComeFirstServed: FIRST_FIT,
    Priority: FIRST_FIT,
    Dias: FIRST_FIT,
    Heats: HEATS,
    HeatsAsReleased: HEATS_AS_RELEASED,
    Kubernetes: KUBERNETES,
}


def is_compiled(policy: Policy) -> bool:
    """Return whether the kernel knows what `policy` decides; if not, the reference asks it."""
    return type(policy) in _PLACEMENTS


def class_tables(
    cluster: Cluster, job_classes: Sequence[JobClass]
) -> tuple[NDArray[np.void], NDArray[np.void]]:
    """Return PACE by [class, type, level] and SITE by [class, type], without predictions."""
    types = cluster.node_types
    most = max(len(node_type.levels) for node_type in types)
    paces = np.zeros((len(job_classes), len(types), most), PACE)
    sites = np.zeros(paces.shape[:2], SITE)
    for row, job_class in enumerate(job_classes):
        for column, node_type in enumerate(types):
            measured = job_class.active_w.get(node_type.name)
            slowdown = job_class.slowdown.get(node_type.name, 1.0)
            for number, level in enumerate(node_type.levels):
                pace = paces[row, column, number]
                pace["speed"] = level.speed / slowdown
                pace["watts"] = measured[number] if measured else level.active_w
                pace["gpu_watts"] = level.gpu_active_w
            site = sites[row, column]
            site["pull_s"] = job_class.image_bytes / node_type.network_bytes_per_s
            site["pause_s"] = (job_class.state_bytes or 0) / node_type.network_bytes_per_s
    return paces, sites


def outage_events(cluster: Cluster) -> NDArray[np.void]:
    """Return failures and returns in the order of time; at one time returns first, then nodes."""
    events = [(outage.down_s, outage.node, 0) for outage in cluster.outages]
    events += [(outage.up_s, outage.node, 1) for outage in cluster.outages if outage.up_s < never]
    return np.array(sorted(events, key=lambda event: (event[0], -event[2], event[1])), OUTAGE)


def _predict(m: Model, policy: Policy) -> None:
    """Put the policy's predictions into the tables."""
    if isinstance(policy, HeatsAsReleased):
        if len(policy.score) != len(m.kinds):
            message = f"{len(policy.score)} node types, the cluster has {len(m.kinds)}"
            raise UserError(f"heats_as_released: {message}")
        m.kinds["score"] = policy.score
    if isinstance(policy, Heats):
        classes, types, most = m.paces.shape
        if policy.run_time_s.shape[:2] != (classes, types) or policy.run_time_s.shape[2] < most:
            message = f"predictions of shape {policy.run_time_s.shape}, expected {m.paces.shape}"
            raise UserError(f"heats: {message}: job class, node type, level")
        m.classes["energy_weight"] = policy.energy_weight
        m.paces["run_time_s"] = policy.run_time_s[:, :, :most]
        m.paces["energy_j"] = policy.energy_j[:, :, :most]
        m.sites["absent_s"], m.sites["present_s"] = policy.set_up_s
        m.sites["absent_j"], m.sites["present_j"] = policy.set_up_j


def _rules(policy: Policy, stays: bool) -> NDArray[np.void]:
    rules = np.zeros(1, RULES)
    one = rules[0]
    one["placement"] = _PLACEMENTS[type(policy)]
    one["level"] = getattr(policy, "level", -1)
    for name in ("by_priority", "head_of_line", "resumes", "tick_s"):
        one[name] = getattr(policy, name)
    one["evicts"] = isinstance(policy, Priority) and policy.preemption != "none"
    one["migrates_free"] = getattr(policy, "free_migration", False)
    one["holds"] = getattr(policy, "hold_when_pending", False)
    one["budget_s"], one["sprint_level"] = math.inf, -1
    if isinstance(policy, Dias):
        one["budget_s"], one["replenish"] = policy.budget_s, policy.replenish_s_per_s
        one["sprint_level"] = policy.sprint_level
    if isinstance(policy, Heats):
        one["choose_level"], one["migration_gain"] = policy.choose_level, policy.migration_gain
        one["random_weights"] = policy.weight_seed is not None
        one["weight_seed"] = policy.weight_seed or 0
        one["scores_images"] = policy.set_up_s.any() or policy.set_up_j.any()
    if isinstance(policy, Kubernetes):
        one["nodes_to_find"] = policy.nodes_to_find
    one["records_stays"] = stays
    return rules


def build_model(
    cluster: Cluster, job_classes: Sequence[JobClass], policy: Policy, stays: bool
) -> Model:
    """Return the kernel's constants. Raises UserError for a policy made for another cluster."""
    types = cluster.node_types
    paces, sites = class_tables(cluster, job_classes)
    kinds = np.zeros(len(types), KIND)
    kinds["levels"] = [len(node_type.levels) for node_type in types]
    kinds["linear"] = [not node_type.load_curve for node_type in types]
    kinds["nodes"] = cluster.counts
    kinds["first_node"] = np.cumsum(cluster.counts) - cluster.counts
    kinds["leaves"] = [1 << (count - 1).bit_length() for count in cluster.counts]
    kinds["tree"] = np.cumsum(2 * kinds["leaves"]) - 2 * kinds["leaves"]
    timeouts = policy.timeout_s if isinstance(policy, Dias) else {}
    unknown = sorted(set(timeouts) - {job_class.name for job_class in job_classes})
    if unknown:
        raise UserError(f"dias: timeout_s: unknown job classes {unknown}")
    classes = np.zeros(len(job_classes), JOB_CLASS)
    classes["cold_start_s"] = [job_class.cold_start_s for job_class in job_classes]
    classes["sprint_after_s"] = [timeouts.get(one.name, never) for one in job_classes]
    curves = [node_type.load_curve or np.linspace(0, 1, 11) for node_type in types]
    model = Model(
        _rules(policy, stays),
        kinds,
        classes,
        sites,
        paces,
        np.array(curves, float),
        outage_events(cluster),
    )
    _predict(model, policy)
    return model


def build_state(
    m: Model, cluster: Cluster, slots: int, sample_s: float, maintain_s: float
) -> State:
    """Return an empty cluster at time 0, with room for `slots` jobs in the system."""
    nodes = np.zeros(cluster.size, NODE)
    nodes["type"], nodes["up"] = cluster.type_of_node, 1
    for name, field in (("cpu", "cpu_milli"), ("gpu", "gpu_milli"), ("memory", "memory_bytes")):
        sizes = np.array([getattr(node_type, field) for node_type in cluster.node_types])
        nodes[name] = nodes[f"free_{name}"] = sizes[nodes["type"]]
    nodes["factor"] = 1.0
    tree = np.full(int(2 * m.kinds["leaves"].sum()), -1, FREE)
    for kind, count in enumerate(cluster.counts):
        begin, leaves, first = (m.kinds[kind][name] for name in ("tree", "leaves", "first_node"))
        for name in ("cpu", "gpu", "memory"):
            of_type = nodes[f"free_{name}"][first : first + count]
            tree[name][begin + leaves : begin + leaves + count] = of_type
            for at in range(leaves - 1, 0, -1):
                tree[name][begin + at] = tree[name][begin + 2 * at : begin + 2 * at + 2].max()
    clock = np.zeros(1, CLOCK)
    clock["tick_s"], clock["sample_s"], clock["maintain_s"] = (
        m.rules["tick_s"],
        sample_s,
        maintain_s,
    )
    clock["budget_s"], clock["empty_s"] = m.rules["budget_s"], never
    clock["first_running"] = clock["last_running"] = clock["free_slot"] = NOBODY
    images = np.ascontiguousarray((m.sites["pull_s"] == 0.0)[:, nodes["type"]])
    state = State(
        clock,
        np.zeros(0, JOB),
        np.zeros(0, HEAP),
        nodes,
        tree,
        np.zeros(0, SHAPE),
        np.zeros(0, np.int64),
        images,
        np.where(m.sites["pull_s"] == 0.0, 0, m.kinds["nodes"]),
        np.zeros((len(m.kinds), 3), np.int64),
    )
    return with_slots(state, slots)


def with_slots(s: State, slots: int) -> State:
    """Return `s` with room for `slots` jobs in the system, more than before."""
    before = len(s.jobs)
    jobs = np.zeros(slots, JOB)
    jobs[:before] = s.jobs
    heap = np.zeros(slots, HEAP)
    heap[:before] = s.heap
    jobs["after"][before:] = np.arange(before + 1, slots + 1)
    jobs["after"][-1] = s.clock["free_slot"][0]
    s.clock["free_slot"] = before
    return s._replace(jobs=jobs, heap=heap)


def with_shapes(s: State, known: int, more: NDArray[np.void]) -> State:
    """Return `s`, which knows the first `known` shapes, with those that are new."""
    if known + len(more) > len(s.shapes):
        size = 2 * (known + len(more))
        shapes, active = np.zeros(size, SHAPE), np.zeros(size, np.int64)
        shapes[:known] = s.shapes[:known]
        active[: len(s.active)] = s.active
        s = s._replace(shapes=shapes, active=active)
    s.shapes[known : known + len(more)] = more
    return s
