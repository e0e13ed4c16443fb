"""The tables of benchmarks/README.md on container images."""

from collections.abc import Iterator
from typing import Any

from common import load

_AS_IN_REGISTRIES = "_as_in_registries"
# At least that much smaller. Published are: up to 95 % of images that registries have of these
# (BLAFS), 97 % of one with Python only, about 50 % of PyTorch's by Cimplifier.
_SERVICES_PCT, _TORCH_PCT, _TORCH_FILES_PCT = 95.0, 75.0, 55.0
_BARS_PCT = {
    **dict.fromkeys(("nginx", "redis", "postgres", "memcached", "node", "python"), _SERVICES_PCT),
    **dict.fromkeys(("torch", "torch_with_byte_code"), _TORCH_PCT),
}
_MAKING_S, _TRACED_RATIO = 90.0, 1.15
# By image where that was published: of the same software, built by others. In MB, before and after.
_PUBLISHED = {
    "nginx": "up to 95 %; Cimplifier 502 to 6 MB, -98.8 %",
    "redis": "up to 95 %; BLAFS 117 to 28.8 MB, -75.4 %; Cimplifier 153 to 12 MB, -92.2 %",
    "node": "up to 95 %; docker-slim 406 to 25.1 MB, -93.8 %",
    "python": "97 %; docker-slim 916 to 27.5 MB, -97.0 %",
    **dict.fromkeys(("torch", "torch_with_byte_code"), "about 50 %"),
}
_BASES = {
    "minimal": "the smallest Debian",
    "no_documentation": "as in registries, on a Debian without documentation",
    "for_building": "as in registries, on a Debian with what software is built with",
}
METHODS = {
    "opened": "files opened, by strace (Cimplifier)",
    "traced": "all files used, without the closure's rules",
    "files": "files, by the closure",
}


def _cases() -> dict[str, Any]:
    figures: Any = load("images") or {"cases": {}}
    found: dict[str, Any] = dict(sorted(figures["cases"].items()))
    return found


def machines() -> list[str]:
    """What the images were measured on, and when: each case as it was measured last."""
    cases = _cases().values()
    return sorted({f"{case['machine']}, {case['date']}" for case in cases})


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of each image."""
    cases = _cases()
    return [*(_row(name, case) for name, case in cases.items()), *_files_only(cases), *_making()]


def _row(name: str, case: Any) -> tuple[str, str, str, str]:
    software = name.removesuffix(_AS_IN_REGISTRIES)
    bar = _bar(software)
    if "error" in case:
        return software, bar, f"failed: {case['error'].replace('|', '/')[:200]}", "**missed**"
    before, after = case["before"], case["after"]
    layers, packed = (
        _smaller_pct(before, after, key) for key in ("layer_bytes", "compressed_bytes")
    )
    runs = case["runs"]
    other = [f"{key.replace('_', ' ')}: {how}" for key, how in runs.items() if how != "equal"]
    packages = case["packages"]
    delivered = all(how == "equal" for key, how in runs.items() if "strict" not in key)
    smaller = min(layers, packed) if software.startswith("torch") else layers
    met = delivered and smaller >= _BARS_PCT.get(software, 0)
    measured = (
        f"layers {_mb(before['layer_bytes'])} to {_mb(after['layer_bytes'])} MB"
        f" ({-layers:+.1f} %), compressed {_mb(before['compressed_bytes'])} to"
        f" {_mb(after['compressed_bytes'])} MB ({-packed:+.1f} %); of"
        f" {packages['all']} packages {packages['none_stays']} go whole; setuid files"
        f" {before['setuid']} to {after['setuid']}, shells {before['shells']} to"
        f" {after['shells']}; outputs equal: {len(runs) - len(other)} of {len(runs)}"
        + (f" ({', '.join(other)})" if other else "")
    )
    return _what(name, case), bar, measured, "met" if met else "**missed**"


def _bar(software: str) -> str:
    if software not in _BARS_PCT:
        return "runs and serves"
    compressed = ", compressed too" if software.startswith("torch") else ""
    published = _PUBLISHED.get(software, "up to 95 %")
    return f"at least {_BARS_PCT[software]:g} % smaller{compressed} (published: {published})"


def side_by_side() -> list[str]:
    """The table of what each way of choosing leaves of an image's layers, and whether it runs."""
    heads = ("image", "layers before", *METHODS.values(), "files and libraries, restored")
    made = [heads, ("---",) * len(heads)]
    for name, case in _cases().items():
        if "methods" in case:
            before = case["before"]
            ways = [_way(before, case["methods"][method]) for method in METHODS]
            ours = _way(before, {**case["after"], **case["runs"]})
            made.append((_what(name, case), f"{_mb(before['layer_bytes'])} MB", *ways, ours))
    return [f"| {' | '.join(row)} |" for row in made]


def _what(name: str, case: Any) -> str:
    software = name.removesuffix(_AS_IN_REGISTRIES).replace("_", " ")
    return f"{software}: {_BASES[case['base']]}"


def _files_only(cases: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """The rows of the bar for files only, of PyTorch's images."""
    for name, case in cases.items():
        if not name.startswith("torch") or "methods" not in case:
            continue
        before, after = case["before"], case["methods"]["files"]
        keys = ("layer_bytes", "compressed_bytes")
        layers, packed = (_smaller_pct(before, after, key) for key in keys)
        met = min(layers, packed) >= _TORCH_FILES_PCT and after["traced"] == "equal"
        yield (
            f"{_what(name, case)}, files only",
            f"at least {_TORCH_FILES_PCT:g} % smaller, compressed too (published: about 50 %)",
            f"layers {-layers:+.1f} %, compressed {-packed:+.1f} %; output {after['traced']}",
            "met" if met else "**missed**",
        )


def _making() -> Iterator[tuple[str, str, str, str]]:
    """The rows on the time that an image takes to be made slim, and that tracing in it costs."""
    figures: Any = load("image_making")
    if not figures:
        return
    default, few = ((figures[name], _seconds(figures[name])) for name in ("default", "few runs"))
    run_s = figures["tracing"]["plain_wall_s"]["median"]
    yield (
        f"an image with PyTorch of {_mb(figures['image_bytes'])} MB, `image slim` and `verify` of"
        f" its archive, on {figures['file_system']} (`images/making.py`)",
        f"at most {_MAKING_S:g} s",
        f"{default[1]:.0f} s by default, in which the program runs {default[0]['runs']} times, of"
        f" {run_s:.1f} s untraced; {few[1]:.0f} s where it runs {few[0]['runs']} times (`--runs 2"
        " --settle 2`, `--repeats 2`)",
        "met" if default[1] <= _MAKING_S else "**missed**",
    )
    for name, bar in (("files", _TRACED_RATIO), ("functions", None)):
        ratio = figures["tracing"][f"{name}_ratio"]
        yield (
            f"{name} traced in that image, {len(ratio['values'])} interleaved runs each",
            f"at most {bar}x" if bar else "",
            f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})",
            ("met" if ratio["median"] <= bar else "**missed**") if bar else "",
        )


def _seconds(made: Any) -> float:
    return float(made["slim_s"] + made["verify_s"])


def _way(before: Any, after: Any) -> str:
    runs = [after[key] for key in ("traced", "held_out") if key in after]
    said = "runs" if set(runs) == {"equal"} else "; ".join(dict.fromkeys(runs))
    smaller = _smaller_pct(before, after, "layer_bytes")
    return f"{_mb(after['layer_bytes'])} MB ({-smaller:+.1f} %): {said}"


def _smaller_pct(before: Any, after: Any, key: str) -> float:
    return float(100 * (1 - after[key] / before[key]))


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.{0 if size_bytes > 2e7 else 1}f}"
