"""The tables of benchmarks/README.md on starts from snapshots."""

from statistics import geometric_mean, median
from typing import Any

from common import load

RESULTS = ("snapshots",)
_HEAD = (
    "program", "processor s: original", "slim", "snapshot", "times faster, by processor time",
    "by wall time", "from an empty page cache, s", "own memory, MB", "of 8 workers", "output",
    "pairs", "what comes next",
)  # fmt: skip
_ACTS = {
    "it calls write": "it writes", "it calls socketpair": "it opens sockets",
    # As recorded before calls had names.
    "system call 1": "it writes", "system call 53": "it opens sockets",
}  # fmt: skip
_MB = 1e6


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of all programs together."""
    programs = _programs()
    if not programs:
        return []
    wall = {name: median(_ratios(row, "wall_s")) for name, row in programs.items()}
    cpu = {name: median(_ratios(row, "cpu_s")) for name, row in programs.items()}
    best = max(wall, key=lambda name: wall[name])
    least = min(wall, key=lambda name: wall[name])
    mean, mean_cpu = geometric_mean(wall.values()), geometric_mean(cpu.values())
    equal = sum(row["equal"] for row in programs.values())
    is_met = mean >= 2.5 and wall[best] >= 5 and wall[least] >= 1 and equal == len(programs)
    return [
        (
            f"start to the first useful output, {len(programs)} programs, files in memory",
            "geometric mean at least 2.5 times faster, the best 5, none slower",
            f"{mean:.1f} ({mean_cpu:.1f} by processor time); best {best} {wall[best]:.1f}, least"
            f" {least} {wall[least]:.2f}; outputs equal {equal} of {len(programs)}",
            "met" if is_met else "**missed**",
        ),
        _part("own memory at the first output", "at most 0.65x", 0.65, "memory"),
        _part("own memory of 8 workers together", "at most 0.65x", 0.65, "memory_of_8"),
        _part(
            "start from an empty page cache, against the slim environment without",
            "at least 40 % less",
            0.6,
            "cold_wall_s",
        ),
    ]


def lines() -> list[str]:
    """A row for each program."""
    found = ["| " + " | ".join(_HEAD) + " |", "|" + " --- |" * len(_HEAD)]
    return found + [_line(name, row) for name, row in _programs().items()]


def _programs() -> dict[str, Any]:
    figures: Any = load("snapshots") or {"programs": {}}
    return dict(sorted(figures["programs"].items()))


def _ratios(row: Any, what: str) -> list[float]:
    before, after = (row[way][what]["values"] for way in ("original", "snapshot"))
    return [each / other for each, other in zip(before, after, strict=True)]


def _part(what: str, bar: str, most: float, column: str) -> tuple[str, str, str, str]:
    pairs = {
        name: pair for name, row in _programs().items() if (pair := _pair(row, column)) is not None
    }
    parts = {name: after / before for name, (before, after) in pairs.items()}
    mean, worst = geometric_mean(parts.values()), max(parts, key=lambda name: parts[name])
    measured = (
        f"geometric mean {mean:.2f}x of {len(parts)} programs, {min(parts.values()):.2f}"
        f" to {parts[worst]:.2f} ({worst})"
    )
    return what, bar, measured, "met" if mean <= most else "**missed**"


def _pair(row: Any, column: str) -> tuple[float, float] | None:
    if column not in row["snapshot"]:
        return None
    if column == "cold_wall_s":
        return row["slim"][column]["median"], row["snapshot"][column]["median"]
    return row["original"][column]["own"], row["snapshot"][column]["own"]


def _line(name: str, row: Any) -> str:
    cpu = [f"{row[way]['cpu_s']['median']:.3f}" for way in ("original", "slim", "snapshot")]
    cold = [f"{row[way]['cold_wall_s']['median']:.2f}" for way in ("original", "slim", "snapshot")]
    own, of_8 = _pair(row, "memory"), _pair(row, "memory_of_8")
    cells = [
        name, *cpu, _spread(_ratios(row, "cpu_s")), _spread(_ratios(row, "wall_s")),
        " → ".join(cold), _megabytes(own), _megabytes(of_8), "equal" if row["equal"] else "differs",
        str(len(row["snapshot"]["cpu_s"]["values"])),
        _ACTS.get(row.get("next_act"), row.get("next_act")) or f"no snapshot: {row['why']}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _spread(values: list[float]) -> str:
    low, high = sorted(values)[len(values) // 4], sorted(values)[len(values) * 3 // 4]
    return f"{median(values):.1f} ({low:.1f} to {high:.1f})"


def _megabytes(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else f"{pair[0] / _MB:.0f} → {pair[1] / _MB:.0f}"
