"""Read the state of a process that no Python object shows."""

import os
import sys

MYPY = False  # true for type checkers only
if MYPY:
    from typing import Any

_TINY = 5e-324  # denormal: zero after some libraries' start-up code


def probe() -> "Any":
    """Return what bodies of modules may change in this process, to be compared."""
    atexit = sys.modules.get("atexit")
    signal = sys.modules.get("_signal")
    numpy = sys.modules.get("numpy")
    locale = sys.modules.get("_locale")
    state = getattr(getattr(sys.modules.get("random"), "_inst", None), "getstate", None)
    return (
        sys.getrecursionlimit(),
        sys.getswitchinterval(),
        sys.gettrace(),
        sys.getprofile(),
        atexit and atexit._ncallbacks(),
        signal and [signal.getsignal(number) for number in range(1, signal.NSIG)],
        locale and locale.setlocale(locale.LC_ALL),
        getattr(numpy, "geterr", tuple)(),
        state and hash(state()),
        len(os.listdir("/proc/self/task")),
        os.listdir("/proc/self/fd"),
        os.getcwd(),
        _TINY / 2 * 2 == _TINY * 1.0,
    )
