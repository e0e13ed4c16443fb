"""Priority of what is timed, on a machine that does other work meanwhile."""

import os
from pathlib import Path

NICENESS = -15


def prefer(pid: int) -> None:
    """Let the kernel prefer the process and all of its session; raises OSError where it may not.

    Where Linux groups processes by session (autogroup), niceness alone counts within a session
    only, and a trial has one of its own.
    """
    os.setpriority(os.PRIO_PROCESS, pid, NICENESS)
    autogroup = Path(f"/proc/{pid}/autogroup")
    if autogroup.exists():
        autogroup.write_text(str(NICENESS))
