"""What slurmctld's log says about a queue: submissions, cycles of both schedulers, starts, ends.

It needs `SlurmctldDebug=debug`, `DebugFlags=Backfill,TraceJobs` and `LogTimeFormat=iso8601_ms`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from slurm_plans import Cycle

_LINE = re.compile(r"\[([\d:.T-]+)\] (.*)")
_SUBMITTED = re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+) ")
_STARTED = re.compile(r"(?:Started|sched: Allocate) JobId=(\d+) ")
_ENDED = re.compile(r"_job_complete: JobId=(\d+) done")
_READY = re.compile(r"cleanup_completing: JobId=(\d+)")
_MAIN, _BACKFILL = "sched: Running job scheduler", "_attempt_backfill: beginning"
_RELEASED = "update_part: setting state_up to"


@dataclass
class SlurmLog:
    """Jobs by number in Slurm; instants in ns, lines of the same ms in their order.

    `started` is the instant of the cycle that starts a job.
    """

    submitted: dict[int, int] = field(default_factory=dict)
    started: dict[int, int] = field(default_factory=dict)
    ended: dict[int, int] = field(default_factory=dict)
    ready: dict[int, int] = field(default_factory=dict)  # all nodes have completed it
    cycles: list[Cycle] = field(default_factory=list)


def read_slurm_log(lines: Iterable[str]) -> SlurmLog:
    """Read a log; cycles before the partition is set up are left out."""
    log = SlurmLog()
    for number, line in enumerate(lines):
        if not (found := _LINE.match(line)):
            continue
        clock, said = datetime.fromisoformat(found[1]), found[2]
        at = round(clock.timestamp() * 1000) * 1_000_000 + number % 1_000_000
        if _RELEASED in said:
            log.cycles.clear()
        elif _MAIN in said or _BACKFILL in said:
            log.cycles.append(Cycle(at, int(clock.timestamp()), _BACKFILL in said))
        elif match := _SUBMITTED.search(said):
            log.submitted[int(match[1])] = at
        elif match := _STARTED.search(said):
            log.started[int(match[1])] = log.cycles[-1].at
        elif match := _ENDED.search(said):
            log.ended[int(match[1])] = at
        elif match := _READY.search(said):
            log.ready[int(match[1])] = at
    return log
