"""The table of benchmarks/README.md on the processor time of slim servers in containers."""

from typing import Any

from common import load

_BAR = 1.02


def _cases() -> dict[str, Any]:
    figures: Any = load("container_cpu") or {"cases": {}}
    return dict(sorted(figures["cases"].items()))


def machines() -> list[str]:
    """What it was measured on, and when."""
    return sorted({f"{case['machine']}, {case['date']}" for case in _cases().values()})


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of each server."""
    return [_row(name, case) for name, case in _cases().items()]


def _row(name: str, case: Any) -> tuple[str, str, str, str]:
    bar = f"at most {_BAR} times the original's, median of pairs"
    if "error" in case:
        return name, bar, f"failed: {case['error'][-200:]}", "**missed**"
    ratios = case["ratios"]
    what = (
        f"{name}: processor time of a container, start and 30 requests,"
        f" {len(ratios)} interleaved pairs (`images/container_cpu.py`)"
    )
    measured = (
        f"{case['ratio']:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}); {case['before_s']:.2f} to"
        f" {case['after_s']:.2f} s; of the least of each {case['ratio_of_least']:.2f}"
    )
    return what, bar, measured, "met" if case["ratio"] <= _BAR else "**missed**"
