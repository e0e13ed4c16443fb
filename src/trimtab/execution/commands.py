"""Commands that queue for this machine, and the policy that they queue under."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from trimtab.errors import UserError


@dataclass(frozen=True, slots=True)
class QueuedCommand:
    """A command that joins the queue `arrival_s` after its start; higher priorities go first."""

    job: int
    job_class: str
    priority: int
    arrival_s: float
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DispatchPolicy:
    """P, NP, NPS, DA or DiAS for real commands, by priority (thesis, section 4.2.2).

    `preemptive`: a job that arrives evicts one of lower priority. `drop_ratio`: the share of its
    tasks that a job is to leave out, 0 where none is given; the command reads it in
    TRIMTAB_DROP_RATIO, and does what it can. `sprint_timeout_s`: how long a job runs before it
    is sped up; None or no entry: never. `budget_s` and `replenish_s_per_s`: see `SprintBudget`.
    `servers`: how many jobs run at a time.
    """

    preemptive: bool = False
    drop_ratio: Mapping[int, float] = field(default_factory=dict)
    sprint_timeout_s: Mapping[int, float | None] = field(default_factory=dict)
    budget_s: float = inf
    replenish_s_per_s: float = 0.0
    servers: int = 1

    @property
    def sprints(self) -> bool:
        """Whether any job is ever sped up."""
        return any(timeout_s is not None for timeout_s in self.sprint_timeout_s.values())

    def __post_init__(self) -> None:
        if self.servers < 1:
            raise UserError(f"servers: {self.servers} is not at least 1")
        for priority, ratio in self.drop_ratio.items():
            if not 0 <= ratio <= 1:
                raise UserError(f"drop_ratio of priority {priority}: {ratio} is not from 0 to 1")
        for priority, timeout_s in self.sprint_timeout_s.items():
            if timeout_s is not None and not timeout_s >= 0:
                raise UserError(
                    f"sprint_timeout_s of priority {priority}: {timeout_s} is not at least 0 s"
                )
        if self.sprints and self.servers > 1:
            raise UserError("servers: sprinting speeds up the one job that runs; servers must be 1")


def check_commands(jobs: Sequence[QueuedCommand]) -> None:
    """Raise UserError when a job cannot be meant as it is."""
    seen: set[int] = set()
    for job in jobs:
        if job.job in seen:
            raise UserError(f"job {job.job}: there are two of them; each needs a number of its own")
        seen.add(job.job)
        if not 0 <= job.arrival_s < inf:
            raise UserError(f"job {job.job}: arrival_s: {job.arrival_s} is not at least 0 s")
        if not job.command:
            raise UserError(f"job {job.job}: the command is empty")
        if shutil.which(job.command[0]) is None:
            raise UserError(f"job {job.job}: command: {job.command[0]}: no such program")
