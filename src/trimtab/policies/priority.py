"""Priority buffers, with and without preemption: DiAS' baselines P and NP."""

from collections.abc import Sequence

from trimtab.errors import UserError
from trimtab.policies.base import Running, Task
from trimtab.policies.build import Facts
from trimtab.policies.fcfs import FirstComeFirstServed

PREEMPTION = ("none", "repeat", "resume")


class Priority(FirstComeFirstServed):
    """The highest priority first, and first come, first served within one.

    `preemption` (Rocha's thesis, section 4.2.2): "none" is NP; "repeat" is P: a job takes the
    place of one of lower priority, which goes back to the head of its buffer and starts again
    with the same service time; "resume": it goes on where it was.
    """

    by_priority = True

    def __init__(self, preemption: str = "none", *, level: int = -1) -> None:
        """Raise UserError for an unknown preemption."""
        super().__init__(level=level)
        if preemption not in PREEMPTION:
            known = ", ".join(PREEMPTION)
            raise UserError(f"priority: preemption: {preemption!r}, expected one of {known}")
        self.preemption = preemption
        self.resumes = preemption == "resume"

    def evict(self, task: Task, running: Sequence[Running]) -> Running | None:
        """Return the job of the lowest priority, and of those the one started last."""
        lower = [other for other in running if other.task.priority < task.priority]
        if self.preemption == "none" or not lower:
            return None
        lowest = min(other.task.priority for other in lower)
        return [other for other in lower if other.task.priority == lowest][-1]


def build(facts: Facts, *, preemption: str = "none", level: int = -1) -> Priority:
    """Return the policy that a YAML of the kind `priority` describes."""
    return Priority(preemption, level=level)
