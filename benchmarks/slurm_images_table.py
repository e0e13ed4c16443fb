"""The rows on slim images on the real Slurm in benchmarks/README.md."""

from collections.abc import Iterator
from statistics import mean
from typing import Any

Row = tuple[str, str, str, str]
Pair = tuple[float, float]  # predicted and measured
SIDES = ("original", "slim")
MOST_ERROR = 0.1


def rows(found: dict[str, Any]) -> Iterator[Row]:
    """Yield what was predicted of each queue, from measured pulls and by size, and the savings."""
    measured, queues = found["measured"], found["queues"]
    pairs = _pairs(queues, "predicted")
    errors = [abs(said / real - 1) for side in SIDES for said, real in pairs[side]]
    yield (
        f"`trimtab worth` against the real Slurm, {len(queues)} queues of {measured['jobs']} jobs"
        f" on {measured['nodes']} nodes: mean response",
        f"within {100 * MOST_ERROR:.0f} %",
        _each_side(pairs),
        "met" if max(errors) <= MOST_ERROR else "**missed**",
    )
    if all("predicted_as_fast" in each for each in queues.values()):
        yield (
            "the same, with programs and unpacking as fast as in each queue",
            "",
            _each_side(_pairs(queues, "predicted_as_fast")),
            "",
        )
    yield (
        "the same, with pull and unpacking by size",
        "",
        _each_side(_pairs(queues, "predicted_by_size")),
        "",
    )
    saved = [
        f"{100 * (1 - slim[0] / original[0]):.0f} % for {100 * (1 - slim[1] / original[1]):.0f} %"
        for original, slim in zip(*(pairs[side] for side in SIDES), strict=True)
    ]
    yield "the same: what slim images save of it", "", ", ".join(saved), ""


def _pairs(queues: dict[str, Any], predicted: str) -> dict[str, list[Pair]]:
    return {
        side: [
            (mean(each[predicted][side]["response_s"]), mean(each["measured"][side]["response_s"]))
            for each in queues.values()
        ]
        for side in SIDES
    }


def _each_side(pairs: dict[str, list[Pair]]) -> str:
    return "; ".join(f"{side} {', '.join(map(_error, pairs[side]))}" for side in SIDES)


def _error(pair: Pair) -> str:
    said, real = pair
    return f"{said:.1f} s for {real:.1f} s ({100 * (said / real - 1):+.0f} %)"
