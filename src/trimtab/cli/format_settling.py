"""How a slim environment settled, and the risk that is left, in words."""

from trimtab.debloating.risk import RunHistory
from trimtab.records.misses.settling import Risk, Settling


def format_settling(settling: Settling) -> str:
    """Return how the environment of a program settled, for the caption of a table."""
    runs, missed = len(settling.runs), len(settling.missed)
    state = "settled" if settling.settled else f"not settled ({settling.why_not})"
    if settling.left_alone:
        names = ", ".join(settling.left_alone)
        state += f", {names} left as in the original, as programs fail otherwise (--keep-library)"
    if not runs:
        return state
    risk = format_risk(RunHistory(settling).risk_of(settling.runs[0].workload))
    pieces = f"{missed:,} removed pieces missed and kept"
    return f"{state}: {runs} run{'' if runs == 1 else 's'}, {pieces}; {risk}"


def format_risk(risk: Risk) -> str:
    """Return how probable it is that the next run misses something."""
    estimate = "unknown" if risk.estimate is None else f"{risk.estimate:.0%}"
    bound = f"at most {risk.bound:.0%}, 95 % sure"
    return f"risk that the next run misses something: {estimate} ({bound})"
