"""Chooses a machine's best sprinter, which describes itself in `description`.

The thesis sprints by frequency, from 800 MHz to 2.4 GHz (Rocha's thesis, section 4.4.2). Without
cpufreq, cores replace it: by control group quota, or else by affinity.
"""

import os

from trimtab.errors import UserError
from trimtab.execution.sprinting.core_sprinting import AffinitySprinter, QuotaSprinter
from trimtab.execution.sprinting.frequencies import FrequencySprinter
from trimtab.execution.sprinting.sprinter import NoSprinter, Sprinter
from trimtab.processes.control_groups import make_group


def find_sprinter(sprints: bool = True) -> Sprinter:
    """Return the machine's best sprinter: frequency, else quota, else affinity.

    If no job `sprints`, it does nothing. Raises UserError with the reasons when there is none.
    """
    if not sprints:
        return NoSprinter()
    reasons = []
    for make in (FrequencySprinter, _quota_sprinter, AffinitySprinter):
        try:
            return make()
        except UserError as error:
            reasons.append(str(error))
    raise UserError("no way to sprint on this machine:\n  " + "\n  ".join(reasons))


def _quota_sprinter() -> QuotaSprinter:
    if len(os.sched_getaffinity(0)) < 2:
        raise UserError("there is one core only: a quota of one core would not slow a job down")
    return QuotaSprinter(make_group("cpu"))
