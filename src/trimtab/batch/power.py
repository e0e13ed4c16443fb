"""The power of nodes and of parts of jobs, and the jobs that a cap leaves out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.sleep import Sleep
from trimtab.clusters.cluster import WHOLE_GPU, Cluster, NodeType
from trimtab.errors import UserError

if TYPE_CHECKING:
    from trimtab.batch.model import Kinds

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


def with_power(
    least_parts: Whole,
    kinds: "Kinds",
    cluster: Cluster,
    sleeps: Sequence[Sleep | None],
    cap_w: float,
) -> NDArray[np.bool_]:
    """Return which jobs, alone and at their least width, stay below a cap on one node type.

    Their power is that at the level that draws most, so they are the same for all policies. Raises
    UserError if the nodes alone draw more.
    """
    power = node_power(cluster, sleeps)
    if power.least_mw > cap_w * 1000:
        raise UserError(
            f"--power-cap-kw: {cap_w / 1000:g} given, and the nodes draw {power.least_mw / 1e6:g}"
            " kW without a job; expected more, or nodes that sleep (--sleep-after, --autoscale)"
        )
    enough = np.zeros(len(least_parts), bool)
    for number, node_type in enumerate(cluster.node_types):
        levels = range(len(node_type.levels))
        part_w = np.max([power_of_parts(kinds.rows, node_type, each) for each in levels], axis=0)
        most_parts = kinds.most_parts[:, number]
        of_node = np.maximum(most_parts // power.counts[number], 1)[kinds.of_job]
        nodes = -(-least_parts // of_node)
        needed_mw = least_parts * milliwatts(part_w)[kinds.of_job] + nodes * power.saved_mw[number]
        able = np.isfinite(kinds.slowdown[:, number])[kinds.of_job]
        able &= least_parts <= most_parts[kinds.of_job]
        enough |= able & (power.least_mw + needed_mw <= cap_w * 1000)
    return enough
