"""Nothing that a command line or a rule's script starts outlives it, wherever it is killed.

The process that a person or Snakemake started becomes the first of two native supervisors
(native/supervisor); the Python program goes on as a child of the second. Each of the two kills
everything when the other is gone, and the first also does when a process between it and the
Snakemake that started the rule is. The program itself gets SIGTERM when both are.

What a program sees that is traced does not change: its parent, session, process group, signals and
environment are what they would be, but for an ignored SIGCHLD.
"""

import ctypes
import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from trimtab.errors import Stopped, TrimtabError, exit_on_error
from trimtab.places import NATIVE

STARTER = "TRIMTAB_STARTER"  # the Snakemake process that runs a rule: rules' shells set it
_PR_SET_PDEATHSIG = 1
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StarterGoneError(TrimtabError):
    """Snakemake, which a rule's script belongs to, has ended."""


@contextmanager
def supervised() -> Iterator[None]:
    """Run a script's block supervised, errors told in one line; the script's last lines."""
    with exit_on_error():
        supervise()
        yield


def supervise() -> None:
    """Put this process under supervision, and have signals that end programs raise Stopped.

    Returns in a child of this process, which has to be its only thread. Without the native
    supervisor, which `make native` builds, signals are all that changes. Raises StarterGoneError
    where Snakemake is not alive any more.
    """
    supervisor = NATIVE / "trimtab-supervisor"
    watched = _up_to(os.environ.pop(STARTER, None))
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:  # nothing could be waited for
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_ENDING, signal.SIGQUIT})
    if supervisor.is_file():
        outer = _become(supervisor, watched)
        watched = _watched([os.getppid()])
        _check_parent(outer)
        inner = _become(supervisor, watched, apart=True)
        _be_told_of_parents_end()
        _check_parent(inner)
    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _become(supervisor: Path, watched: list[int], *, apart: bool = False) -> int:
    """Go on as a child; this process becomes its supervisor, which watches the pidfds.

    Returns the supervisor's number. `apart` it leaves its process group, so that no signal to that
    ends both supervisors.
    """
    parent, child = os.getpid(), os.fork()
    if not child:
        for descriptor in watched:
            os.close(descriptor)
        return parent
    try:
        if apart:
            os.setsid()
            _be_told_of_parents_end()  # in time also where there is nothing to watch
        for descriptor in watched:
            os.set_inheritable(descriptor, True)
        os.execv(supervisor, [supervisor.name, str(child), *map(str, watched)])
    except OSError as error:
        print(f"error: {supervisor}: cannot be started: {error.strerror}", file=sys.stderr)
    finally:
        os.kill(child, signal.SIGKILL)
        os._exit(os.EX_OSERR)


def _be_told_of_parents_end() -> None:
    """Get SIGTERM when the process that started this one ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _watched(numbers: list[int]) -> list[int]:
    """Return pidfds of processes; none where the system has none (before Linux 5.3) or refuses."""
    try:
        return [os.pidfd_open(number) for number in numbers]
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
        return []


def _check_parent(number: int) -> None:
    """End where the supervisor is gone already: nothing has been started."""
    if os.getppid() != number:
        os._exit(128 + signal.SIGTERM)


def _up_to(starter: str | None) -> list[int]:
    """Return pidfds of this process' ancestors up to `starter`; none without one."""
    if not starter or not starter.isdecimal():
        return []
    numbers = _ancestors(int(starter))
    try:
        descriptors = _watched(numbers)
    except ProcessLookupError:
        raise StarterGoneError("Snakemake has ended") from None
    if numbers != _ancestors(int(starter)):  # another process has such a number meanwhile
        raise StarterGoneError("Snakemake has ended")
    return descriptors


def _ancestors(starter: int) -> list[int]:
    found = [os.getppid()]
    while found[-1] != starter:
        try:
            stat = Path(f"/proc/{found[-1]}/stat").read_bytes()
        except OSError:
            stat = b") gone 0"
        parent = int(stat.rpartition(b")")[2].split()[1])
        if parent <= 1 and parent != starter:
            raise StarterGoneError("Snakemake has ended")
        found.append(parent)
    return found


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    for each in _ENDING:  # what cleans up is not to be interrupted
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)
