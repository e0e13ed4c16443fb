"""The table of benchmarks/README.md on container images."""

from typing import Any

from common import load

RESULTS = ("images",)
# What the sources say was reached, of images of another base.
_PUBLISHED = {"nginx": "95 %", "redis": "95 %", "python": "97 %"}
_BARS_PCT = {"nginx": 95.0, "redis": 95.0, "python": 95.0, "torch": 75.0}
_RUNS = ("traced", "traced_strict", "held_out", "held_out_strict")


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of each image."""
    figures: Any = load("images") or {"cases": {}}
    return [_row(name, case) for name, case in figures["cases"].items()]


def _row(name: str, case: Any) -> tuple[str, str, str, str]:
    what = f"{name}: image of Debian's packages made slim (`images.py`)"
    if "error" in case:
        return what, "runs", f"refused: {case['error'].replace('|', '/')[:200]}", "**missed**"
    before, after = case["before"], case["after"]
    layers, packed = (
        100 * (1 - after[key] / before[key]) for key in ("layer_bytes", "compressed_bytes")
    )
    runs = {key: case[key] for key in _RUNS if key in case}
    other = [key.replace("_", " ") for key, how in runs.items() if how != "equal"]
    packages = case["packages"]
    bar = f"at least {_BARS_PCT[name]:g} % smaller" if name in _BARS_PCT else "runs and serves"
    bar += ", compressed too" if name == "torch" else ""
    if name in _PUBLISHED:
        bar += f" (published: {_PUBLISHED[name]})"
    delivered = all(how == "equal" for key, how in runs.items() if "strict" not in key)
    smaller = min(layers, packed) if name == "torch" else layers
    met = delivered and smaller >= _BARS_PCT.get(name, 0)
    measured = (
        f"layers {before['layer_bytes'] / 1e6:,.0f} to {after['layer_bytes'] / 1e6:,.0f} MB"
        f" ({-layers:+.1f} %), compressed {before['compressed_bytes'] / 1e6:,.0f} to"
        f" {after['compressed_bytes'] / 1e6:,.0f} MB ({-packed:+.1f} %); of"
        f" {packages['all']} packages {packages['none_stays']} go whole; setuid files"
        f" {before['setuid']} to {after['setuid']}, shells {before['shells']} to"
        f" {after['shells']}; outputs equal: {len(runs) - len(other)} of {len(runs)}"
        + (f" (not: {', '.join(other)})" if other else "")
    )
    return what, bar, measured, "met" if met else "**missed**"
