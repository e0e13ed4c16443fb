"""`trimtab new --policy NAME`: a policy of batch queues in a file of the user's own."""

import os
import re
from pathlib import Path

from trimtab.errors import UserError
from trimtab.files import atomic_write

_TEMPLATE = '''\
"""A policy of batch queues, for `trimtab schedule simulate JOBS --policy ./{name}.py`."""

from trimtab.batch.policies.base import Backfill, BatchPolicy


class MyPolicy(BatchPolicy):
    """Small jobs first; a job's size is its estimate, times its share of the nodes."""

    # Who may start before the first waiting job, if that has no room: NONE, ANY (wide jobs can
    # starve), EASY (who does not delay it), or CONSERVATIVE (who delays no job before them).
    backfill = Backfill.EASY

    # How often waiting jobs are ordered again, in seconds; without this line once, at submission.
    reorder_s = 600.0

    def __init__(self, ageing):
        self.ageing = ageing

    def order(self, jobs, now_s):
        """Return a number for each waiting job; the smallest is served first.

        `jobs` has NumPy arrays: submit_s, estimate_s, parts, cpu_milli, gpu_milli, memory_bytes (of
        a part), share (of the nodes), priority, user, user_usage, queue, deadline_s.
        """
        waited_s = now_s - jobs.submit_s
        return jobs.estimate_s * jobs.share - self.ageing * waited_s

    def cost(self, run_s, energy_j, cluster):
        """Return the cost of each kind of job on each node type; the lowest with room is taken.

        `run_s` and `energy_j` (above idle) are of a job of one second; both are infinite where it
        cannot run. None: the first type of --nodes with room.
        """
        return None

    # With `rounds = True`, `assign(self, jobs, cluster, now_s)` gives each job a node type every
    # `reorder_s`; a job that changes writes a checkpoint: see trimtab.batch.policies.max_min.


def build(*, ageing=0.01):  # `--policy ./{name}.py:ageing=0.1` gives another number
    return MyPolicy(ageing)
'''


def write_policy(name: str) -> Path:
    """Write the template to NAME.py in the current folder; return its path.

    Raises UserError for a name that is no identifier, and if the file exists.
    """
    stem = name.removesuffix(".py")
    if not re.fullmatch(r"[A-Za-z_]\w*", stem, re.ASCII):
        raise UserError(f"--policy {name}: expected letters, digits and _, such as my_policy")
    path = Path(f"{stem}.py")
    if os.path.lexists(path):
        raise UserError(f"{path}: exists already; expected a new name")
    with atomic_write(path) as temporary:
        temporary.write_text(_TEMPLATE.format(name=stem))
    return path
