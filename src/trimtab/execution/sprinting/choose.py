"""Which way of sprinting a machine allows; a sprinter's `description` says it in words.

The thesis sprints by frequency, from 800 MHz to 2.4 GHz (Rocha's thesis, section 4.4.2). Where
there is no cpufreq, cores take its place: by control group quota, or else by affinity.
"""

import os

from trimtab.errors import UserError
from trimtab.execution.sprinting.core_sprinting import AffinitySprinter, QuotaSprinter
from trimtab.execution.sprinting.frequencies import FrequencySprinter
from trimtab.execution.sprinting.sprinter import NoSprinter, Sprinter
from trimtab.processes.control_groups import make_group


def find_sprinter(sprints: bool = True) -> Sprinter:
    """Return the best sprinter that this machine allows: frequency, else quota, else affinity.

    One that does nothing for jobs of which none `sprints`. Raises UserError when there is none,
    saying why not.
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
