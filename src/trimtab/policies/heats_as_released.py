"""HEATS as its authors released it, which differs from the thesis.

github.com/legato-project/heats-scheduler, commit 0cd2d38 (2019). Against `heats`:

- the regression is trained and evaluated on one hard-coded row, so all tasks have the same
  prediction;
- the score is energy_weight * energy + (1 - energy_weight) * performance of that row; energy is a
  share of 1, but performance is not and weighs up to 20 times as much;
- the queue stops at the first task that fits nowhere;
- a task moves whenever another type of node scores best, never to a node of its own type, and its
  finished iterations move at no cost.

Two rules are left out. A task moves only with more than a second of predicted time left; a policy
sees no clock. A node's last core or byte is never given; tasks that need whole nodes would wait for
ever.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import UserError
from trimtab.policies.base import NodeState, PendingTask, Placement, Policy, RunningTask
from trimtab.policies.facts import PolicyInputs
from trimtab.policies.layout import HEATS_AS_RELEASED, KernelModel

# The row: energy (a share, higher is better) and performance (operations a second) of the four
# types of nodes, named by host in the release. The release does not map them to table 3.2. The slow
# one with little energy, "vully", can only be the Cortex-A53. We map the others by performance;
# "cervino" is efficient, as the small Xeon would be.
RELEASED_ROW = {
    "xeon_e5_2683v4": (0.0, 18.7),  # eiger
    "epyc_7281": (0.01, 12.3),  # moleson
    "xeon_e3_1270v6": (0.64, 14.2),  # cervino
    "cortex_a53": (0.93, 1.9),  # vully
}


class HeatsAsReleased(Policy):
    """The released scheduler over one row: `energy` and `performance`, each [node type].

    Tasks run at the highest level, `levels[node type] - 1`. All have the same `energy_weight`.
    """

    head_of_line = True
    hold_when_pending = True
    free_migration = True
    placement_rule = HEATS_AS_RELEASED

    def __init__(
        self,
        energy: ArrayLike,
        performance: ArrayLike,
        levels: ArrayLike,
        *,
        energy_weight: float = 1.0,
        tick_s: float = 60.0,
    ) -> None:
        """Raise UserError for different lengths or a weight out of range."""
        shares, operations = np.asarray(energy, np.float64), np.asarray(performance, np.float64)
        self.levels: NDArray[np.int64] = np.asarray(levels, dtype=np.int64)
        if not shares.shape == operations.shape == self.levels.shape or shares.ndim != 1:
            raise UserError("heats_as_released: energy, performance, levels: one number a type")
        if not 0 <= energy_weight <= 1:
            raise UserError(
                f"heats_as_released: energy_weight: {energy_weight} given, expected 0 to 1"
            )
        self.tick_s = tick_s
        # In the release's order of operations.
        self.score = np.asarray(shares * energy_weight + operations * (1.0 - energy_weight))

    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        """Return the first node with room of the best-scoring type."""
        if not nodes:
            return None
        best = min(nodes, key=lambda state: (-self.score[state.node_type], state.node))
        return Placement(best.node, int(self.levels[best.node_type]) - 1)

    def reconsider(self, running: RunningTask, nodes: Sequence[NodeState]) -> Placement | None:
        """Return the best node if its type differs from the present one."""
        types = {state.node: state.node_type for state in nodes}
        placement = self.place(running.task, nodes)
        if placement is None or types.get(running.node) in (None, types[placement.node]):
            return None
        return placement

    def fill_kernel(self, model: KernelModel) -> None:
        """Put the score of each node type into the tables."""
        if len(self.score) != len(model.kinds):
            message = f"{len(self.score)} node types, the cluster has {len(model.kinds)}"
            raise UserError(f"heats_as_released: {message}")
        model.kinds["score"] = self.score


def build(
    facts: PolicyInputs, *, energy_weight: float = 1.0, tick_s: float = 60.0
) -> HeatsAsReleased:
    """Return the policy of a YAML of the kind `heats_as_released`.

    Raises UserError for a cluster with node types outside its row.
    """
    names = [node_type.name for node_type in facts.cluster.node_types]
    unknown = [name for name in names if name not in RELEASED_ROW]
    if unknown:
        raise UserError(
            f"heats_as_released: its one row has {', '.join(RELEASED_ROW)}; the cluster has "
            f"{', '.join(unknown)} too"
        )
    energy, performance = zip(*(RELEASED_ROW[name] for name in names), strict=True)
    return HeatsAsReleased(
        energy, performance, facts.levels, energy_weight=energy_weight, tick_s=tick_s
    )
