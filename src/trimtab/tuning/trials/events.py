"""The events of a search: the end of an epoch or of a trial, or an answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class EndReason(StrEnum):
    """Why a trial has ended. After the first two it can resume from its checkpoint."""

    FINISHED = "finished"  # by itself, successfully
    STOPPED = "stopped"  # as told at an epoch's end
    KILLED = "killed"  # by us
    FAILED = "failed"  # with another exit code
    CRASHED = "crashed"  # by a signal of others
    OUT_OF_MEMORY = "out of memory"
    NOT_A_NUMBER = "not a number"  # a metric was not finite
    TIMED_OUT = "timed out"
    BROKEN_PROTOCOL = "broken protocol"

    @property
    def is_failure(self) -> bool:
        """Whether the trial ended neither successfully nor on our request."""
        return self not in (EndReason.FINISHED, EndReason.STOPPED, EndReason.KILLED)


@dataclass(frozen=True)
class EpochEnd:
    """An epoch has ended, counted from 0 over all runs of the trial.

    `wall_s` is its duration by the program's clock, with evaluation and checkpoint. For a program
    that reports by marks, the first epoch begins at the start. `cpu_s` and `counters` are of all
    processes of the trial: profiling's `OS_COUNTERS`, the hardware events (NaN where not counted)
    and `counters_running_share`. `not_set` says why settings that were requested last are not in
    effect, by their names in a configuration. The program `waits` for an answer, unless it reports
    by marks.
    """

    epoch: int
    wall_s: float
    cpu_s: float
    metrics: Mapping[str, float]
    counters: Mapping[str, float]
    not_set: Mapping[str, str]
    waits: bool


@dataclass(frozen=True)
class TrialEnded:
    """The trial's run has ended, with all its processes; `message` says how, in one line.

    `exit_code` is that of its first process; below 0, the signal that ended it. `epochs` counts
    those that ended in this run. `start_up_s` is the time from its start to its first epoch, None
    where unknown. `wall_s` and `cpu_s` are of the whole run; in `waiting_s` of it the program
    waited for answers. `peak_rss_bytes` is the peak at an epoch's end, or the kernel's peak of one
    process; 0 where both are unknown.
    """

    reason: EndReason
    message: str
    exit_code: int
    epochs: int
    wall_s: float
    waiting_s: float
    start_up_s: float | None
    cpu_s: float
    peak_rss_bytes: int

    @property
    def failure(self) -> str:
        """Why a failed run has failed: its reason, except for an exit code, and its message."""
        return self.message if self.reason == EndReason.FAILED else f"{self.reason}: {self.message}"


@dataclass(frozen=True)
class Answered:
    """An answer awaited beside the trials has come."""


Event = EpochEnd | TrialEnded
