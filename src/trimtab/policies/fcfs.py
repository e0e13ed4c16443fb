"""First come, first served, on the first node with room."""

from collections.abc import Sequence

from trimtab.policies.base import NodeState, PendingTask, Placement, Policy
from trimtab.policies.facts import PolicyInputs
from trimtab.policies.layout import FIRST_FIT


class FirstComeFirstServed(Policy):
    """Jobs start in the order of arrival, on the lowest-numbered node with room.

    `level` is their frequency level; negative: counted from the highest, -1. `head_of_line`: a job
    without room blocks all later ones.
    """

    placement_rule = FIRST_FIT

    def __init__(self, *, level: int = -1, head_of_line: bool = False) -> None:
        self.level = level
        self.head_of_line = head_of_line

    def place(self, task: PendingTask, nodes: Sequence[NodeState]) -> Placement | None:
        """Return the first node with room."""
        return Placement(nodes[0].node, self.level) if nodes else None


def build(
    facts: PolicyInputs, *, level: int = -1, head_of_line: bool = False
) -> FirstComeFirstServed:
    """Return the policy of a YAML of the kind `fcfs`."""
    return FirstComeFirstServed(level=level, head_of_line=head_of_line)
