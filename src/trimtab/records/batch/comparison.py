"""The document of `trimtab schedule simulate`: the figures of a queue under several policies."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from trimtab.records.batch.operation import DeadlineFigures, NodeUse, StartupFigures
from trimtab.records.document import PART, Document
from trimtab.records.values import AboveZero, Amount, Measure, PathInside, Share, Text, Whole

RECORDED = "as recorded"
Slowdown = Annotated[Amount, Field(ge=1)]


@dataclass(frozen=True, config=PART)
class WaitFigures:
    """Waits of a set of jobs, responses (wait and run time together), and bounded slowdowns.

    Slowdowns are of run times of at least 10 s.
    """

    jobs: AboveZero
    mean_wait_s: Amount
    median_wait_s: Amount
    p95_wait_s: Amount
    longest_wait_s: Amount
    mean_response_s: Amount
    p95_response_s: Amount
    mean_bounded_slowdown: Slowdown


@dataclass(frozen=True, config=PART)
class GroupWaits(WaitFigures):
    """The waits of the jobs of one queue, or of one class of width."""

    name: Text


@dataclass(frozen=True, config=PART)
class QueueWaits:
    """Waits of counted jobs, by queue and by width: cores, or GPUs where a job has any.

    `user_fairness` is Jain's index over users' mean bounded slowdowns, 1 where all are equal; null
    with fewer than two users.
    """

    every: WaitFigures
    by_queue: list[GroupWaits]
    by_width: list[GroupWaits]
    user_fairness: Share | None


@dataclass(frozen=True, config=PART)
class Interruptions:
    """How often jobs went back to the queue, how many of them, and what it cost.

    `lost_core_h` and `lost_gpu_h` are work that was done again. `checkpoint_h` and `restart_h` are
    hours of jobs, on all of their nodes, in checkpoints and restarts.
    """

    count: Whole
    jobs: Whole
    lost_core_h: Amount
    lost_gpu_h: Amount
    checkpoint_h: Amount
    restart_h: Amount


@dataclass(frozen=True, config=PART)
class PolicyOutcome:
    """A policy's waits, and what the nodes did from the first submission to the last end.

    Energy and power are null where the power of the nodes is unknown, cost and carbon where no
    curve was given, and the figures below where they do not apply. `schedule` is the file of its
    table BATCH_SCHEDULE, and `runs` of BATCH_RUNS if jobs were interrupted.
    """

    policy: Text
    schedule: PathInside
    waits: QueueWaits
    makespan_s: Amount
    cpu_share: Share
    gpu_share: Share | None
    idle_energy_j: Amount | None
    active_energy_j: Amount | None
    cost_eur: Measure | None
    carbon_kg: Amount | None
    peak_power_w: Amount | None = None
    deadlines: DeadlineFigures | None = None
    startups: StartupFigures | None = None
    node_use: NodeUse | None = None
    interruptions: Interruptions | None = None
    runs: PathInside | None = None

    @property
    def energy_kwh(self) -> float | None:
        """The energy of all nodes; None where their power is unknown."""
        if self.idle_energy_j is None or self.active_energy_j is None:
            return None
        return (self.idle_energy_j + self.active_energy_j) / 3.6e6


@dataclass(frozen=True, config=PART)
class NodeGroup:
    """Equal nodes: their type, how many there are, and the size of one."""

    node_type: Text
    nodes: AboveZero
    cpu_milli: AboveZero
    gpu_milli: Whole


class QueueComparison(Document):
    """A queue under several policies, in the order asked for, and as its file recorded it.

    `load` is the largest ratio of what jobs ask for to what nodes have between the first and the
    last submission; null if that is shorter than the longest job. `skipped` counts rows that are no
    jobs to simulate, by reason, and `left_out` jobs that fit no empty nodes; `over_cap` of these
    need more power than the cap. All waits are of the same `counted` of the `jobs`. `remarks` are
    what was assumed.
    """

    stage: ClassVar[str] = "trimtab schedule simulate"
    version: Literal[1] = 1
    file: Text
    format: Text
    jobs: AboveZero
    counted: AboveZero
    left_out: Whole
    skipped: dict[Text, AboveZero]
    nodes: list[NodeGroup]
    load: Amount | None
    recorded: QueueWaits | None
    policies: list[PolicyOutcome]
    remarks: list[Text]
    over_cap: Whole = 0

    def results(self) -> list[str]:
        """Return what the best policy saves, and which jobs are missing, as sentences."""
        return [each for each in (self._saving(), self._missing()) if each]

    def sentences(self) -> list[str]:
        """Return the results and what was assumed, as sentences."""
        return [*self.results(), *self.remarks]

    def _saving(self) -> str:
        best = min(self.policies, key=lambda each: each.waits.every.mean_wait_s)
        against = self.recorded or self.policies[0].waits
        before_s, after_s = (each.every.mean_wait_s for each in (against, best.waits))
        words = f"{best.policy}: mean wait {format_duration(after_s)}"
        if self.recorded:
            words += f" instead of {format_duration(before_s)} {RECORDED}"
            words += _change(before_s, after_s)
        elif after_s < before_s:
            words += f" instead of {format_duration(before_s)} under {self.policies[0].policy}"
            words += _change(before_s, after_s)
        elif all(each.waits.every.mean_wait_s > after_s for each in self.policies[1:]):
            words += ", the shortest" * (len(self.policies) > 1)
        if self.load is not None and self.load > 1:
            return (
                f"jobs ask for {self.load:.2f} times what the nodes have, so waits grow with the"
                f" length of the log; {words}"
            )
        return words

    def _missing(self) -> str:
        said = [f"{count:,} {reason}" for reason, count in self.skipped.items()]
        if self.left_out > self.over_cap:
            said.append(f"{self.left_out - self.over_cap:,} fit no nodes")
        if self.over_cap:
            said.append(f"{self.over_cap:,} need more power than the cap")
        return f"jobs left out: {', '.join(said)}" if said else ""


def _change(before_s: float, after_s: float) -> str:
    return f" ({100 * (after_s - before_s) / before_s:+,.0f} %)" if before_s else ""


def format_duration(time_s: float) -> str:
    """Return seconds in the unit that suits them: s, min, h or d."""
    for unit, seconds, below in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if time_s < below:
            return f"{time_s / seconds:.3g} {unit}"
    return f"{time_s / 86400:,.1f} d"
