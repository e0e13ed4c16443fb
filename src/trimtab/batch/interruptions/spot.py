"""Nodes that a provider reclaims at random and gives back: `--spot`."""

import heapq
import math
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from trimtab.batch.kernel import layout
from trimtab.batch.kernel.layout import WHOLE_GPU, BatchState
from trimtab.batch.kernel.library import Simulator
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError

_BACK_AFTER_S = 3600.0
_SHORTEST_S = 1.0  # that a node stays
_MOST_PER_HOUR = 3600.0 / _SHORTEST_S
_LONGEST_S = 30 * 86400.0
_MOST_IDLE = 100  # reclaims of a node, on average, while jobs wait and none runs
_EXPECTED = (
    "expected TYPE=RECLAIMS_PER_NODE_HOUR[:BACK_AFTER_S[:NOTICE_S]], several joined by commas,"
    f" such as gpu_a40=0.05:1800:120; at most {_MOST_PER_HOUR:,.0f} reclaims an hour, and"
    f" {_LONGEST_S:,.0f} s (30 days)"
)


class Spot(NamedTuple):
    """Nodes of a type are reclaimed at `per_node_hour` for `back_after_s`.

    Jobs know `notice_s` before, and write a last checkpoint if that takes no longer.
    """

    node_type: str
    per_node_hour: float
    back_after_s: float = _BACK_AFTER_S
    notice_s: float = 0.0


def parse_spot(text: str, cluster: Cluster) -> list[Spot]:
    """Return what `--spot` says of node types of `cluster`; UserError with the part in question."""
    found = []
    names = [node_type.name for node_type in cluster.node_types]
    for part in text.split(","):
        match = re.fullmatch(r"([^=]+)=([^:]+)(?::([^:]+))?(?::([^:]+))?", part.strip())
        try:
            name, rate, *times_s = match.groups() if match else ("", "nan")
            spot = Spot(name.strip(), float(rate), *(float(each) for each in times_s if each))
        except ValueError:
            spot = Spot("", math.nan)
        if not (
            0 < spot.per_node_hour <= _MOST_PER_HOUR
            and 0 < spot.back_after_s <= _LONGEST_S
            and 0 <= spot.notice_s <= _LONGEST_S
        ):
            raise UserError(f"--spot: {part.strip()!r} given, {_EXPECTED}")
        if spot.node_type not in names:
            raise UserError(
                f"--spot: no nodes {spot.node_type!r}; --nodes has {', '.join(names)}; {_EXPECTED}"
            )
        found.append(spot)
    if len({each.node_type for each in found}) < len(found):
        raise UserError(f"--spot {text}: a type of node twice; expected each once")
    return found


class Reclaims:
    """When nodes are reclaimed: the same times under all policies, for a seed.

    A node that is back is reclaimed after an exponentially distributed time, 1 s at least.
    """

    def __init__(self, spots: Iterable[Spot], cluster: Cluster, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._spots: dict[int, Spot] = {}  # by node
        self._next: list[tuple[float, int]] = []
        numbers = {node_type.name: at for at, node_type in enumerate(cluster.node_types)}
        for spot in spots:
            for node in np.flatnonzero(cluster.type_of_node == numbers[spot.node_type]).tolist():
                self._spots[node] = spot
                self._draw(node, 0.0)
        self._type_of_node = cluster.type_of_node

    _idle = 0  # reclaims in a row while jobs wait and none runs

    def _draw(self, node: int, from_s: float) -> None:
        stays_s = float(self._random.exponential(3600.0 / self._spots[node].per_node_hour))
        heapq.heappush(self._next, (from_s + max(_SHORTEST_S, stays_s), node))

    def next_s(self) -> float:
        """Return when the next node is reclaimed; infinite without any."""
        return self._next[0][0] if self._next else math.inf

    def reclaim(self, simulator: Simulator) -> None:
        """Reclaim the node whose time it is; there is space for an allocation.

        Raises UserError where jobs wait for nodes that are never there at once.
        """
        s = simulator.state
        self._check(s)
        at_s, node = heapq.heappop(self._next)
        spot = self._spots[node]
        back_s = at_s + spot.back_after_s
        simulator.reclaim(self._type_of_node[node], node, back_s, spot.notice_s)
        self._draw(node, back_s)
        s.clock[0]["reclaim_at_s"] = self.next_s()

    def _check(self, s: BatchState) -> None:
        clock = s.clock[0]
        running = s.running[: clock["running"]]
        is_idle = clock["waiting"] > 0 and bool((running >= clock["submissions"]).all())
        self._idle = self._idle + 1 if is_idle else 0
        if self._idle > _MOST_IDLE * len(self._type_of_node):
            raise UserError(
                f"--spot: {int(clock['waiting']):,} jobs wait, and none started during"
                f" {self._idle:,} reclaims: their nodes are never there at once; expected a lower"
                " rate, or nodes that are back sooner"
            )


def with_stand_ins(s: BatchState, cluster: Cluster, reclaims: Reclaims) -> BatchState:
    """Return `s` with a job for each node behind all others, which has it while it is reclaimed."""
    kinds, types, nodes = len(s.kinds), len(cluster.node_types), cluster.size
    rows = np.zeros(types, layout.KIND)
    for row, node_type in zip(rows, cluster.node_types, strict=True):
        row["cpu"], row["memory"] = node_type.cpu_milli, node_type.memory_bytes
        row["gpu"] = node_type.gpu_milli // WHOLE_GPU * WHOLE_GPU
    jobs, progress = np.zeros(nodes, layout.JOB), np.zeros(nodes, layout.PROGRESS)
    jobs["kind"], jobs["image"] = kinds + cluster.type_of_node, layout.NIL
    for width in ("parts", "recorded_parts", "least_parts", "most_parts"):
        jobs[width] = 1
    jobs["start_s"], jobs["first"] = np.nan, layout.NIL
    progress["interval_s"] = np.inf
    s.clock[0]["reclaim_at_s"] = reclaims.next_s()
    places = np.zeros(nodes, np.int64)
    return s._replace(
        jobs=np.concatenate([s.jobs, jobs]),
        kinds=np.concatenate([s.kinds, rows]),
        sites=np.concatenate([s.sites, np.zeros((types, types), layout.SITE)]),
        running=np.concatenate([s.running, places]),
        heap=np.concatenate([s.heap, places]),
        progress=np.concatenate([s.progress, progress]),
    )
