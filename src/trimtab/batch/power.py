"""The power of nodes and of parts of jobs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.sleep import Sleep
from trimtab.clusters.cluster import WHOLE_GPU, Cluster, NodeType

Whole = NDArray[np.int64]


class NodePower(NamedTuple):
    """By node type, in milliwatts: idle power of a node, and what one draws less asleep.

    The first is rounded up and the second down, so that power is never counted as less than it is.
    """

    idle_mw: Whole
    saved_mw: Whole
    counts: Whole

    @property
    def least_mw(self) -> int:
        """The power of all nodes while none is used and all sleep that can."""
        return int(self.counts @ (self.idle_mw - self.saved_mw))


def node_power(cluster: Cluster, sleeps: Sequence[Sleep | None]) -> NodePower:
    """Return the power of the nodes of each type."""
    idle_w = np.array([each.idle_w for each in cluster.node_types])
    saved = np.array([0.0 if each is None else 1.0 - each.power_share for each in sleeps])
    return NodePower(milliwatts(idle_w), (idle_w * saved * 1000).astype(np.int64),
                     np.array(cluster.counts))  # fmt: skip


def milliwatts(power_w: NDArray[np.float64]) -> Whole:
    """Return power in whole milliwatts, rounded up."""
    return np.ceil(power_w * 1000 - 1e-6).astype(np.int64)


def power_of_parts(rows: NDArray[np.void], node_type: NodeType, level: int) -> NDArray[np.float64]:
    """Return the active power, in W, of a part of each kind (layout.KIND) at a level."""
    gpus_w = node_type.levels[level].gpu_active_w * rows["gpu"] / WHOLE_GPU
    watts: NDArray[np.float64] = cores_power_of_parts(rows, node_type, level) + gpus_w
    return watts


def cores_power_of_parts(
    rows: NDArray[np.void], node_type: NodeType, level: int
) -> NDArray[np.float64]:
    """Return what the cores draw of `power_of_parts`, where the load curve is linear."""
    watts: NDArray[np.float64] = (
        node_type.levels[level].active_w * rows["cpu"] / node_type.cpu_milli
    )
    return watts


def curved_s(
    node: Whole,
    start_s: NDArray[np.float64],
    end_s: NDArray[np.float64],
    cpu_milli: Whole,
    cluster: Cluster,
) -> NDArray[np.float64]:
    """Return how long each use of a node's cores would take to draw as much on linear load curves.

    A use holds `cpu_milli` of `node` from `start_s` to `end_s`. All uses of a node share its power
    in proportion, as in native/cluster_simulator/energy.h: at the load u they draw the curve at u,
    divided by u, times what they would on a linear curve.
    """
    count = len(node)
    events = np.concatenate([start_s, end_s])
    on = np.tile(node, 2)
    order = np.lexsort((events, on))
    on, at_s = on[order], events[order]
    in_use = np.cumsum(np.concatenate([cpu_milli, -cpu_milli])[order])  # each node's end at 0
    type_of_node = cluster.type_of_node[on]
    factor = np.ones(2 * count)
    for number, node_type in enumerate(cluster.node_types):
        curved = (type_of_node == number) & (in_use > 0)
        if node_type.load_curve and curved.any():
            load = in_use[curved] / node_type.cpu_milli
            factor[curved] = np.interp(load, np.linspace(0, 1, 11), node_type.load_curve) / load
    lasts_s = np.where(on[1:] == on[:-1], np.diff(at_s), 0.0)
    integral_s = np.empty(2 * count)
    integral_s[order] = np.concatenate([[0.0], np.cumsum(factor[:-1] * lasts_s)])
    drawn_s: NDArray[np.float64] = integral_s[count:] - integral_s[:count]
    return drawn_s
