"""The table of benchmarks/README.md on slim images that another machine has from a registry."""

from collections.abc import Iterator
from typing import Any

from common import load

_MOST_INDEX_PCT = 3.0
HEAD = (
    "image",
    "original, MB",
    "slim, MB",
    "pulled until ready",
    "index, MB",
    "of the original",
    "traced",
    "held out",
    "pieces missed",
    "alone: traced",
    "alone: held out",
    "",
)


def _cases() -> dict[str, Any]:
    figures: Any = load("shipping") or {"cases": {}}
    return dict(sorted(figures["cases"].items()))


def machines() -> list[str]:
    """What it was measured on, and when."""
    return sorted({f"{case['machine']}, {case['date']}" for case in _cases().values()})


def lines() -> list[str]:
    """The table: what a registry stores, in MB, and whether outputs there are equal."""
    made = [HEAD, ("---",) * len(HEAD), *_rows()]
    return [f"| {' | '.join(row)} |" for row in made]


def _rows() -> Iterator[tuple[str, ...]]:
    for name, case in _cases().items():
        if "error" in case:
            yield (name, *[""] * (len(HEAD) - 2), f"failed: {case['error'][-200:]}")
            continue
        more_pct = 100 * (case["added_bytes"] - case["slim_bytes"]) / case["original_bytes"]
        met = more_pct <= _MOST_INDEX_PCT and case["traced"] == case["held_out"] == "equal"
        yield (
            name,
            *(f"{case[key] / 1e6:,.1f}" for key in ("original_bytes", "slim_bytes")),
            f"{100 * case['slim_bytes'] / case['original_bytes']:.1f} %",
            f"{(case['added_bytes'] - case['slim_bytes']) / 1e6:,.2f}",
            f"{more_pct:.2f} %",
            *(case[key] for key in ("traced", "held_out")),
            f"{case['misses']:,}",
            *(case[key] for key in ("traced_alone", "held_out_alone")),
            "met" if met else "**missed**",
        )
