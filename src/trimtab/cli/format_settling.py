"""Formats how a slim environment settled, and the remaining risk."""

from trimtab.debloating.risk import RunHistory
from trimtab.records.misses.settling import Settling


def format_settling(settling: Settling) -> str:
    """Return how a program's environment settled, for the caption of a table."""
    runs, missed = len(settling.runs), len(settling.missed)
    state = "settled" if settling.settled else f"not settled ({settling.why_not})"
    if settling.left_alone:
        names = ", ".join(settling.left_alone)
        state += f", {names} left as in the original, as programs fail otherwise (--keep-library)"
    if not runs:
        return state
    risk = RunHistory(settling).risk_of(settling.runs[0].workload)
    pieces = f"{missed:,} removed pieces missed and kept"
    return f"{state}: {runs} run{'' if runs == 1 else 's'}, {pieces}; {risk}"
