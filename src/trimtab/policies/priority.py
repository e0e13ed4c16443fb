"""Priority buffers, with and without preemption: DiAS' baselines P and NP."""

from collections.abc import Sequence
from enum import StrEnum

from trimtab.errors import UserError
from trimtab.policies.base import PendingTask, RunningTask
from trimtab.policies.facts import PolicyInputs
from trimtab.policies.fcfs import FirstComeFirstServed
from trimtab.policies.layout import FIRST_FIT
from trimtab.queueing.poisson_priority import Discipline

# The fate of a job of lower priority when a job arrives without room.
Preemption = StrEnum("Preemption", "NONE REPEAT RESAMPLE RESUME")
_DISCIPLINES = {
    Preemption.NONE: Discipline.NON_PREEMPTIVE,
    Preemption.REPEAT: Discipline.PREEMPTIVE_REPEAT,
    Preemption.RESAMPLE: Discipline.PREEMPTIVE_RESAMPLE,
    Preemption.RESUME: Discipline.PREEMPTIVE_RESUME,
}


class Priority(FirstComeFirstServed):
    """Highest priority first; first come, first served within a priority.

    `preemption` (Rocha's thesis, section 4.2.2): "none" is NP. "repeat" is P: a job evicts one of
    lower priority, which returns to the head of its buffer and restarts with the same service time.
    With "resample" it restarts with the service time of another job of its class; with "resume" it
    continues instead.
    """

    by_priority = True
    placement_rule = FIRST_FIT

    def __init__(self, preemption: str = Preemption.NONE, *, level: int = -1) -> None:
        """Raise UserError for an unknown preemption."""
        super().__init__(level=level)
        if preemption not in list(Preemption):
            expected = ", ".join(Preemption)
            raise UserError(f"priority: preemption: {preemption!r}, expected one of {expected}")
        self.preemption = Preemption(preemption)
        self.evicts = self.preemption is not Preemption.NONE
        self.resumes = self.preemption is Preemption.RESUME
        self.resamples = self.preemption is Preemption.RESAMPLE

    def evict(self, task: PendingTask, running: Sequence[RunningTask]) -> RunningTask | None:
        """Return the job of the lowest priority; among equals, the one started last."""
        lower = [other for other in running if other.task.priority < task.priority]
        if not self.evicts or not lower:
            return None
        lowest = min(other.task.priority for other in lower)
        return [other for other in lower if other.task.priority == lowest][-1]

    def discipline(self) -> Discipline | None:
        """Return the discipline of this preemption."""
        return _DISCIPLINES[self.preemption]


def build(facts: PolicyInputs, *, preemption: str = Preemption.NONE, level: int = -1) -> Priority:
    """Return the policy of a YAML of the kind `priority`."""
    return Priority(preemption, level=level)
