"""The default scheduler of Kubernetes: the baseline of HEATS.

kube-scheduler v1.31 with its default profile: Kubernetes' documentation, "Kubernetes Scheduler",
"Scheduler Performance Tuning" and "Resource Bin Packing", and the plug-ins' source, package
k8s.io/kubernetes/pkg/scheduler.

1. Filter (NodeResourcesFit): the nodes with room. A search takes the first `nodes_to_find` of them
   from `next_node` on. The next search begins after the last of these; if there were fewer, it
   begins where this one did.
2. Score: NodeResourcesFit's LeastAllocated plus NodeResourcesBalancedAllocation, each of weight 1:

       least = ((cpu - cpu_used) * 100 // cpu + (memory - memory_used) * 100 // memory) // 2
       balanced = trunc((1 - abs((cpu_used / cpu - memory_used / memory) / 2)) * 100)

   in whole numbers (`//` rounds down) and 64-bit floating point; the used amounts include the task.
   For `least`, a task without a CPU or memory request requests 0.1 core or 200 MiB.
3. The highest score wins. Kubernetes breaks ties at random; here the lowest number wins, so runs
   are repeatable. Kubernetes filters 16 nodes at a time, so its next search may begin a few nodes
   later.

The profile's other plug-ins score all nodes equally here, as tasks have neither affinities nor
taints nor volumes. ImageLocality, which prefers nodes with the image, is left out. Kubernetes v1.8,
used in the thesis, scored from 0 to 10 and took the whole difference of the shares.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import UserError
from trimtab.policies.base import NodeState, PendingTask, Placement, Policy
from trimtab.policies.facts import PolicyInputs
from trimtab.policies.layout import KUBERNETES, KernelModel

LEAST_CPU_MILLI = 100
LEAST_MEMORY_BYTES = 200 * 1024 * 1024
_FEWEST_NODES = 100
_FEWEST_PERCENT = 5


def nodes_to_find(node_count: int) -> int:
    """Return the number of nodes with room that end a search (percentageOfNodesToScore: 0).

    All nodes below 100; else 50 - nodes / 125 percent of them, at least 5 percent and 100 nodes.
    """
    if node_count < _FEWEST_NODES:
        return node_count
    percent = max(50 - node_count // 125, _FEWEST_PERCENT)
    return max(node_count * percent // 100, _FEWEST_NODES)


def score(task: PendingTask, state: NodeState) -> int:
    """Return the points of `state` for `task`, 0 to 200."""
    cpu_used = state.cpu_milli - state.free_cpu_milli
    memory_used = state.memory_bytes - state.free_memory_bytes
    least = (
        _least(cpu_used + (task.cpu_milli or LEAST_CPU_MILLI), state.cpu_milli)
        + _least(memory_used + (task.memory_bytes or LEAST_MEMORY_BYTES), state.memory_bytes)
    ) // 2
    cpu_share = (cpu_used + task.cpu_milli) / state.cpu_milli
    memory_share = (memory_used + task.memory_bytes) / state.memory_bytes
    balanced = int((1.0 - abs((cpu_share - memory_share) / 2.0)) * 100.0)
    return least + balanced


def _least(used: int, capacity: int) -> int:
    return 0 if used > capacity else (capacity - used) * 100 // capacity


class Kubernetes(Policy):
    """The default scheduler on a cluster of `node_count` nodes, including those that are down.

    Tasks run at the highest level, `levels[node type] - 1`. `next_node` is the start of the next
    search, so an object is for one run.
    """

    placement_rule = KUBERNETES

    def __init__(self, node_count: int, levels: ArrayLike) -> None:
        """Raise UserError for a cluster without nodes."""
        if node_count < 1:
            raise UserError(f"kubernetes: node_count: {node_count} is not at least 1")
        self.node_count = node_count
        self.nodes_to_find = nodes_to_find(node_count)
        self.levels: NDArray[np.int64] = np.asarray(levels, dtype=np.int64)
        self.next_node = 0

    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        """Return the node of the highest score among the first ones found with room."""
        if not nodes:
            return None
        found = sorted(nodes, key=lambda state: (state.node - self.next_node) % self.node_count)
        if len(found) >= self.nodes_to_find:
            found = found[: self.nodes_to_find]
            self.next_node = (found[-1].node + 1) % self.node_count
        best = min(found, key=lambda state: (-score(task, state), state.node))
        return Placement(best.node, int(self.levels[best.node_type]) - 1)

    def fill_kernel(self, model: KernelModel) -> None:
        """Set the number of nodes that a search finds."""
        model.rules["nodes_to_find"] = self.nodes_to_find


def build(facts: PolicyInputs) -> Kubernetes:
    """Return the policy of a YAML of the kind `kubernetes`."""
    return Kubernetes(facts.cluster.size, facts.levels)
