"""The table of benchmarks/README.md on what an image takes until its first output."""

from collections.abc import Callable
from statistics import median
from typing import Any

from common import load

RESULTS = ("cold_start",)
_BAR_PCT = 60.0
_BARRED = "torch"
_STEPS = ("pull_s", "unpack_s", "start_s")


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of each image and compression."""
    figures: Any = load("cold_start") or {"cases": {}}
    return [
        _row(name, compression, document)
        for name, case in figures["cases"].items()
        for compression, document in case.items()
    ]


def _row(name: str, compression: str, document: Any) -> tuple[str, str, str, str]:
    before, after = document["before"], document["after"]
    whole = [_median(side, _total) for side in (before, after)]
    pairs = [
        100 * (1 - _total(slim) / _total(original))
        for original, slim in zip(before["rounds"], after["rounds"], strict=True)
    ]
    less = median(pairs)
    steps = ", ".join(
        f"{words} {_median(before, _of(step)):.2f} to {_median(after, _of(step)):.2f}"
        f" ({_median(after, _of(step)) / whole[1]:.0%} of what is left)"
        for words, step in zip(("pull", "unpack", "start"), _STEPS, strict=True)
    )
    one = [_median(side, _of("start_one_core_s")) for side in (before, after)]
    fetched = [
        side["needed"]["chunk_bytes"] / side["needed"]["all_bytes"] for side in (before, after)
    ]
    bar = f"at least {_BAR_PCT:g} % shorter" if name.startswith(_BARRED) else "shorter"
    met = less >= (_BAR_PCT if name.startswith(_BARRED) else 0)
    measured = (
        f"{whole[0]:.2f} to {whole[1]:.2f} s, {less:.1f} % less ({min(pairs):.1f} to"
        f" {max(pairs):.1f}); {steps}; start on one processor {one[0]:.2f} to {one[1]:.2f};"
        f" {_parts(after)}; pulled lazily it would fetch {fetched[0]:.0%} of the original,"
        f" {fetched[1]:.0%} of the slim image"
    )
    what = (
        f"{name.replace('_', ' ')}: pull at {document['gbit_per_s']:g} Gbit/s ({compression}),"
        f" unpack, start to the first output, s, {len(pairs)} interleaved rounds, page cache empty"
        " (`images/cold_start.py`)"
    )
    return what, bar, measured, "met" if met else "**missed**"


def _parts(side: Any) -> str:
    """What the start of the slim image consists of."""
    parts = side["parts"]
    words = [] if parts["loader_s"] is None else [f"dynamic linker {parts['loader_s']:.2f}"]
    if python := parts["python"]:
        unused_s = sum(
            package["import_s"] for package in python["packages"] if package["called"] is False
        )
        words.append(
            f"imports {python['import_s']:.2f}, of packages never called {unused_s:.2f}"
            f" ({python['listed_folders']} folders listed, {python['compiled_files']} compiled)"
        )
    return f"of a start of {parts['start_s']:.2f}: {', '.join(words) or 'nothing known'}"


def _total(took: Any) -> float:
    return float(sum(took[step] for step in _STEPS))


def _of(step: str) -> Callable[[Any], float]:
    return lambda took: float(took[step])


def _median(side: Any, of: Callable[[Any], float]) -> float:
    return median(of(took) for took in side["rounds"])
