"""The share of the time in which a running trial may use its CPUs: a slower processor.

A control group's bandwidth (Documentation/scheduler/sched-bwc.rst; cpu.max of version 2,
cpu.cfs_quota_us of version 1) stops all processes of the trial in each period in which they have
used up theirs. Over many periods the mean speed is right; within one they run at full speed or not
at all. What is shorter than a period is thus never seen as slow as it would be, and what happens to
be stopped takes longer: the tails of short times are an artefact.
"""

from contextlib import suppress
from pathlib import Path

from trimtab.errors import UserError
from trimtab.execution.sprinting.control_groups import make_group, move_into, remove_group
from trimtab.execution.sprinting.sprinter import RunningJob

PERIOD_US = 5_000
_LEAST_QUOTA_US = 1_000  # the kernel's; a smaller share has longer periods
_MOST_WEIGHT = {"cpu.weight": 10_000, "cpu.shares": 262_144}


class CpuQuota:
    """The limit of one trial, in a group of its own that is removed by `close`.

    The group comes before others of the machine: work beside it is not the device's. Raises
    UserError where this machine allows no group.
    """

    def __init__(self) -> None:
        self._group: Path = make_group("cpu")
        for name, weight in _MOST_WEIGHT.items():
            with suppress(OSError):
                if (self._group / name).exists():
                    (self._group / name).write_text(str(weight))

    def set(self, job: RunningJob, share: float, cpus: int) -> None:
        """Let the job use `cpus` CPUs for `share` of the time, above 0 and up to 1."""
        if not 0 < share <= 1:
            raise UserError(f"a share of {share:g} of the time: expected above 0 and up to 1")
        quota_us, period_us = quota_and_period_us(share, cpus)
        try:
            if (self._group / "cpu.max").exists():
                (self._group / "cpu.max").write_text(f"{quota_us or 'max'} {period_us}")
            else:
                # The quota goes first: the kernel takes no period with which it would be too much.
                (self._group / "cpu.cfs_quota_us").write_text("-1")
                (self._group / "cpu.cfs_period_us").write_text(str(period_us))
                (self._group / "cpu.cfs_quota_us").write_text(str(quota_us or -1))
        except OSError as error:
            raise UserError(f"{self._group}: {error.strerror}") from None
        move_into(self._group, job)

    def close(self) -> None:
        """Remove the group; the job has ended."""
        remove_group(self._group)


def quota_and_period_us(share: float, cpus: int) -> tuple[int | None, int]:
    """Return the CPU time in each period, None where it is not limited, and the period, in us."""
    if share == 1:
        return None, PERIOD_US
    period_us = max(PERIOD_US, round(_LEAST_QUOTA_US / (share * cpus)))
    return max(_LEAST_QUOTA_US, round(share * cpus * period_us)), period_us
