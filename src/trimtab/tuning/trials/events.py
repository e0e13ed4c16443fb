"""What is waited for in a search: an epoch of a trial ends, or it does, or an answer comes."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class EndReason(StrEnum):
    """Why a trial has ended. After the first two it can go on from its checkpoint."""

    FINISHED = "finished"  # by itself, as a run that ends well
    STOPPED = "stopped"  # as it was told at an epoch's end
    KILLED = "killed"  # by us
    FAILED = "failed"  # with another exit code
    CRASHED = "crashed"  # by a signal that was not ours
    OUT_OF_MEMORY = "out of memory"
    NOT_A_NUMBER = "not a number"  # a metric was not finite
    TIMED_OUT = "timed out"
    BROKEN_PROTOCOL = "broken protocol"

    @property
    def is_failure(self) -> bool:
        """Whether the trial ended otherwise than it should and than we wanted."""
        return self not in (EndReason.FINISHED, EndReason.STOPPED, EndReason.KILLED)


@dataclass(frozen=True)
class EpochEnd:
    """An epoch has ended, counted from 0 over all runs of the trial.

    `wall_s` is its duration by the program's clock, evaluation and checkpoint included; of one that
    reports by marks the first epoch begins at the start. `cpu_s` and `counters` are what all
    processes of the trial used meanwhile: those of profiling's `OS_COUNTERS`, the hardware events
    (NaN where they are not counted) and `counters_running_share`. `not_set` says of system settings
    that were asked for last and are not in effect, by their names in a configuration, why not. The
    program `waits` for an answer, or has gone on where it reports by marks.
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
    """The trial's run has ended, and no process of it lives; `message` says how, in one line.

    `exit_code` is that of its first process, below 0 the signal that ended it. `epochs` are those
    that ended in this run. `start_up_s` is the time from its start to its first epoch, None where
    that is not known; `wall_s` and `cpu_s` are those of the whole run, `waiting_s` what of it the
    program has waited for answers. `peak_rss_bytes` is the most memory that was
    seen at an epoch's end, or that the kernel knows of one process; 0 where neither is known.
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
        """Why it has failed, of one that did; an exit code says so by itself."""
        return self.message if self.reason == EndReason.FAILED else f"{self.reason}: {self.message}"


@dataclass(frozen=True)
class Answered:
    """What was waited for beside the trials has come."""


Event = EpochEnd | TrialEnded
