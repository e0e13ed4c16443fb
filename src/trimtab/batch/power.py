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
    at_level = node_type.levels[level]
    cores_w = at_level.active_w * rows["cpu"] / node_type.cpu_milli
    watts: NDArray[np.float64] = cores_w + at_level.gpu_active_w * rows["gpu"] / WHOLE_GPU
    return watts
