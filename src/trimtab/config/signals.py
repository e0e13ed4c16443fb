"""Signals by name; also those of real time, of which Python names the first and the last only."""

import re
import signal

_OF_REAL_TIME = re.compile(r"SIGRTMIN([+-]\d{1,2})")
_FIRST = 32  # of real time; the C library keeps some below its SIGRTMIN for itself


def signal_name(number: int) -> str:
    """Return the name of the signal that ended a process: SIGTERM, or SIGRTMIN+6 of real time."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN{number - signal.SIGRTMIN:+d}"


def signal_number(name: str) -> int | None:
    """Return the number of the signal `name`, or None where there is none of that name."""
    if name in signal.Signals.__members__:
        return int(signal.Signals[name])
    match = _OF_REAL_TIME.fullmatch(name)
    number = signal.SIGRTMIN + int(match[1]) if match else 0
    return number if _FIRST <= number <= signal.SIGRTMAX else None
