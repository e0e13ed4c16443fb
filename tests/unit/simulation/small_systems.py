"""Small systems of every kind: clusters, classes, traces and policies, for hypothesis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType, Outage
from trimtab.policies.base import Policy
from trimtab.policies.dias import Dias
from trimtab.policies.fcfs import FirstComeFirstServed
from trimtab.policies.heats.policy import Heats
from trimtab.policies.heats_as_released import HeatsAsReleased
from trimtab.policies.kubernetes import Kubernetes
from trimtab.policies.priority import Priority

CLASSES = ("small", "big", "image")
# More shapes than the kernel tries one by one, of demands that no unit divides.
_odd = st.integers(0, 1999)
_BY_PRIORITY = ("priority", "priority", "dias", "dias")
# HEATS most, as it does most.
_KINDS = (*["heats"] * 4, "heats as released", "kubernetes", "fcfs", *_BY_PRIORITY)
# On a coarse grid many events fall on one instant; between its points none does.
times = st.one_of(st.integers(0, 24).map(lambda step: step / 4), st.floats(0, 6, width=32))
positive = st.one_of(st.integers(1, 16).map(lambda step: step / 4), st.floats(0.125, 4, width=32))


@dataclass
class System:
    cluster: Cluster
    job_classes: tuple[JobClass, ...]
    trace: pd.DataFrame
    policy: Policy


@st.composite
def node_types(draw: st.DrawFn, name: str) -> NodeType:
    speeds = sorted(draw(st.sets(st.sampled_from([0.25, 0.5, 0.8, 1.0, 1.6]), min_size=1)))
    curve = sorted(draw(st.lists(st.floats(0, 1, width=32), min_size=9, max_size=9)))
    return NodeType(
        name,
        cpu_milli=draw(st.integers(2, 4)) * 1000,
        memory_bytes=draw(st.integers(4, 8)),
        idle_w=draw(st.integers(0, 20)),
        levels=tuple(Level(speed, 100 * speed, 40 * speed) for speed in speeds),
        gpu_milli=draw(st.integers(2, 4)) * 1000,
        gpu_slices=draw(st.sampled_from([1000, 1000, 7, 2])),
        load_curve=draw(st.sampled_from([(), (0.0, *curve, 1.0)])),
        network_bytes_per_s=draw(st.sampled_from([4.0, 9.0, math.inf])),
    )


@st.composite
def outages(draw: st.DrawFn, nodes: int) -> list[Outage]:
    found = []
    for node in draw(st.sets(st.integers(0, nodes - 1), max_size=2)):
        down_s = draw(times)
        found.append(Outage(node, down_s, down_s + draw(st.one_of(positive, st.just(math.inf)))))
    return found


@st.composite
def policies(draw: st.DrawFn, cluster: Cluster, kinds: Sequence[str] = _KINDS) -> Policy:
    types = len(cluster.node_types)
    levels = [len(node_type.levels) for node_type in cluster.node_types]
    table = st.floats(0.5, 8, width=16)

    def tables(*shape: int) -> np.ndarray:
        size = math.prod(shape)
        return np.reshape(draw(st.lists(table, min_size=size, max_size=size)), shape)

    kind = draw(st.sampled_from(kinds))
    if kind == "fcfs":
        level = draw(st.sampled_from([0, -1]))
        return FirstComeFirstServed(head_of_line=draw(st.booleans()), level=level)
    if kind == "priority":
        return Priority(draw(st.sampled_from(["none", "repeat", "resample", "resume"])))
    if kind == "dias":
        names = draw(st.sets(st.sampled_from(CLASSES), min_size=1))
        return Dias(
            timeout_s={name: draw(times) for name in sorted(names)},
            budget_s=draw(st.one_of(positive, st.just(math.inf), st.just(0.0))),
            replenish_s_per_s=draw(st.sampled_from([0.0, 0.1, 1.5])),
        )
    if kind == "kubernetes":
        return Kubernetes(cluster.size, levels)
    if kind == "heats as released":
        weight = draw(st.floats(0, 1))
        return HeatsAsReleased(
            tables(types), tables(types), levels, energy_weight=weight, tick_s=draw(positive)
        )
    set_up = draw(st.booleans())
    return Heats(
        tables(len(CLASSES), types, 5),
        tables(len(CLASSES), types, 5),
        levels,
        energy_weight=draw(st.floats(0, 1)),
        weight_seed=draw(st.sampled_from([None, 7])),
        choose_level=draw(st.booleans()),
        migration_gain=draw(st.sampled_from([0.0, 0.1])),
        restarts_moved=draw(st.booleans()),
        tick_s=draw(positive),
        set_up_s=tables(2, len(CLASSES), types) if set_up else None,
        set_up_j=tables(2, len(CLASSES), types) if set_up else None,
    )


@st.composite
def traces(draw: st.DrawFn, jobs: int) -> pd.DataFrame:
    def column(values: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(values, min_size=jobs, max_size=jobs))

    odd = draw(st.booleans())
    return pd.DataFrame(
        {
            "job": np.arange(jobs, dtype=np.int64) * 2,
            "arrival_s": np.sort(np.array(column(times), float)),
            "job_class": column(st.sampled_from(CLASSES)),
            "priority": np.array(column(st.integers(0, 2)), np.int64),
            "cpu_milli": np.array(
                column(_odd if odd else st.sampled_from([0, 500, 1000, 2000])), np.int64
            ),
            "gpu_milli": np.array(
                column(_odd if odd else st.sampled_from([0, 0, 200, 500, 600, 1000, 1500])),
                np.int64,
            ),
            "memory_bytes": np.array(column(st.integers(0, 3)), np.int64),
            "work_s": np.array(column(st.one_of(positive, st.just(0.0))), float),
        }
    )


@st.composite
def protections(draw: st.DrawFn, types: list[str]) -> dict[str, float] | None:
    """None: not secure; else factors by node type, of which one at least is finite."""
    if draw(st.booleans()):
        return None
    first = draw(st.sampled_from(types))
    factors = st.sampled_from([1.0, 1.5, 4.0])
    excluded = st.sampled_from([math.inf, None])
    found = {name: draw(factors if name == first else factors | excluded) for name in types}
    return {name: factor for name, factor in found.items() if factor is not None}


@st.composite
def systems(draw: st.DrawFn) -> System:
    types = tuple(draw(node_types(name)) for name in "ab"[: draw(st.integers(1, 2))])
    counts = tuple(draw(st.integers(1, 3)) for _ in types)
    cluster = Cluster(types, counts, tuple(draw(outages(sum(counts)))))
    image = JobClass(
        "image",
        image_bytes=2,
        cold_start_s=draw(st.sampled_from([0.0, 0.5])),
        state_bytes=draw(st.sampled_from([1, 2, None])),
        slowdown={"a": 1.25},
    )
    active_w = {"a": [30.0 + 10 * level for level in range(len(types[0].levels))]}
    small = JobClass("small", protection=draw(protections([node_type.name for node_type in types])))
    classes = (small, JobClass("big", cold_start_s=0.25, active_w=active_w), image)
    trace = draw(traces(draw(st.integers(1, 16))))
    return System(cluster, classes, trace, draw(policies(cluster)))


@st.composite
def crowds(draw: st.DrawFn) -> System:
    """A system where jobs of many shapes wait, and much happens at one instant."""
    system = draw(systems())
    rng, jobs = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.integers(20, 60))
    trace = pd.DataFrame(
        {
            "job": np.arange(jobs),
            "arrival_s": np.sort(rng.integers(0, draw(st.integers(1, 12)), jobs)) * 1.0,
            "job_class": rng.choice(CLASSES, jobs),
            "priority": rng.integers(0, draw(st.integers(1, 3)), jobs),
            "cpu_milli": rng.integers(1, 2000, jobs),
            "gpu_milli": rng.choice([0, 1], jobs) * rng.integers(0, 2000, jobs),
            "memory_bytes": rng.integers(0, 4, jobs),
            "work_s": rng.integers(0, 5, jobs) * 1.0,
        }
    )
    return replace(system, trace=trace)


@st.composite
def single_servers(draw: st.DrawFn) -> System:
    """A queue before one node, on which no two jobs fit; or two, if each takes just half."""
    node = replace(draw(node_types("a")), gpu_milli=0)
    cluster = Cluster((node,), (1,), tuple(draw(outages(1))))
    image_bytes = draw(st.sampled_from([0, 2]))
    image = JobClass("image", image_bytes=image_bytes, cold_start_s=draw(st.sampled_from([0, 0.5])))
    trace = draw(traces(draw(st.integers(1, 30))))
    half = node.cpu_milli // 2
    least = draw(st.sampled_from([half, half + 1, half + 1, half + 1]))
    trace["cpu_milli"] = np.clip(trace["cpu_milli"] + half, least, node.cpu_milli)
    trace["gpu_milli"] = 0
    classes = (JobClass("small"), JobClass("big"), image)
    return System(cluster, classes, trace, draw(policies(cluster, ("fcfs", *_BY_PRIORITY))))
