"""The table of benchmarks/README.md on slim images that another machine has from a registry."""

from collections.abc import Iterator
from statistics import median
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
LAZY_HEAD = (
    "image",
    "chunks read until ready, MB (estimated)",
    "fetched by eStargz until ready, MB",
    "of the original",
    "the whole slim image, MB",
    "ready, s: original",
    "original by eStargz",
    "slim",
    "",
)
_KINDS = ("original", "original_lazily", "slim")


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


def lazy_lines() -> list[str]:
    """The table: what a lazy pull of the original fetches until ready, beside the slim image.

    A case is met if the whole slim image has fewer bytes than eStargz fetched, with its index.
    Cases measured before there were such figures are left out.
    """
    made = [LAZY_HEAD, ("---",) * len(LAZY_HEAD), *_lazy_rows()]
    return [f"| {' | '.join(row)} |" for row in made]


def _lazy_rows() -> Iterator[tuple[str, ...]]:
    for name, case in _cases().items():
        if "until_ready" not in case:
            continue
        rounds = case["until_ready"]
        whole, lazily, slim = (
            median(each["ready_bytes"] for each in rounds[kind]) for kind in _KINDS
        )
        needed = case["needed"]["chunk_compressed_bytes"]
        yield (
            name,
            *(f"{size / 1e6:,.1f}" for size in (needed, lazily)),
            f"{100 * lazily / whole:.1f} %",
            f"{slim / 1e6:,.1f}",
            *(_seconds([each["ready_s"] for each in rounds[kind]]) for kind in _KINDS),
            "met" if slim < lazily else "**missed**",
        )


def _seconds(values: list[float]) -> str:
    return f"{median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


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
