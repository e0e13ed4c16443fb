"""Supervise all processes that a command line or a rule's script starts: none outlives it.

The process started by the user or by Snakemake becomes the first of two native supervisors
(native/supervisor); the Python program continues as a child of the second. Each supervisor kills
everything when the other one is gone. The first also does so when a process between it and the
rule's Snakemake is gone. The program itself gets SIGTERM when both are gone.

Traced programs see no change: parent, session, process group, signals and environment are as
without supervision, except for an ignored SIGCHLD.
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

STARTER = "TRIMTAB_STARTER"  # the Snakemake process that runs a rule; set by rules' shells
_PR_SET_PDEATHSIG = 1
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StarterGoneError(TrimtabError):
    """The Snakemake of a rule's script has ended."""


@contextmanager
def supervised() -> Iterator[None]:
    """Run a script's block supervised, with errors as one line; used in the script's last lines."""
    with exit_on_error():
        supervise()
        yield


def supervise() -> None:
    """Put this process under supervision; terminating signals raise Stopped.

    Returns in a child of this process, which has to be its only thread. Without the native
    supervisor, from `make native`, only the signals change. Raises StarterGoneError if Snakemake
    has ended.
    """
    supervisor = NATIVE / "trimtab-supervisor"
    watched = _up_to(os.environ.pop(STARTER, None))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_ENDING, signal.SIGQUIT})
    if supervisor.is_file():
        outer = _become(supervisor, watched)
        watched = _watched([os.getppid()])
        _check_parent(outer)
        inner = _become(supervisor, watched, apart=True)
        _be_told_of_parents_end()
        _check_parent(inner)
    handle_signals()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def handle_signals() -> None:
    """Have terminating signals raise Stopped unless they are ignored; await children's ends."""
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:  # children could not be waited for
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in _ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _stop)


def _become(supervisor: Path, watched: list[int], *, apart: bool = False) -> int:
    """Continue as a child; this process becomes its supervisor, which watches the pidfds.

    Returns the supervisor's number. With `apart` it leaves its process group, so that no signal to
    the group ends both supervisors.
    """
    parent, child = os.getpid(), os.fork()
    if not child:
        for descriptor in watched:
            os.close(descriptor)
        return parent
    try:
        if apart:
            os.setsid()
            _be_told_of_parents_end()  # early enough even without a pidfd to watch
        for descriptor in watched:
            os.set_inheritable(descriptor, True)
        os.execv(supervisor, [supervisor.name, str(child), *map(str, watched)])
    except OSError as error:
        print(f"error: {supervisor}: cannot be started: {error.strerror}", file=sys.stderr)
    finally:
        os.kill(child, signal.SIGKILL)
        os._exit(os.EX_OSERR)


def _be_told_of_parents_end() -> None:
    """Get SIGTERM when the parent process ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def _watched(numbers: list[int]) -> list[int]:
    """Return pidfds of processes; none if the system lacks them (before Linux 5.3) or refuses."""
    try:
        return [os.pidfd_open(number) for number in numbers]
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
        return []


def _check_parent(number: int) -> None:
    """End if the supervisor has already ended: nothing was started yet."""
    if os.getppid() != number:
        os._exit(128 + signal.SIGTERM)


def _up_to(starter: str | None) -> list[int]:
    """Return pidfds of this process's ancestors up to `starter`; none without one."""
    if not starter or not starter.isdecimal():
        return []
    numbers = _ancestors(int(starter))
    try:
        descriptors = _watched(numbers)
    except ProcessLookupError:
        raise StarterGoneError("Snakemake has ended") from None
    if numbers != _ancestors(int(starter)):  # a number was reused meanwhile
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
    for each in _ENDING:  # clean-up must not be interrupted
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(number)
