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
_BASES = {
    "minimal": "minimal",
    "no_documentation": "registry, without documentation",
    "for_building": "registry, with build tools",
}
HEAD = (
    "image",
    "base",
    "bar",
    "layers, MB",
    "less",
    "compressed, MB",
    "less",
    "packages removed",
    "setuid files",
    "shells",
    "outputs equal",
    "",
)
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


def lines() -> list[str]:
    """The table of each image: sizes in MB, and what is left."""
    made = [HEAD, ("---",) * len(HEAD), *(_row(name, case) for name, case in _cases().items())]
    return [f"| {' | '.join(row)} |" for row in made]


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of files alone, and of making an image slim."""
    return [*_files_only(_cases()), *_making()]


def _row(name: str, case: Any) -> tuple[str, ...]:
    software = name.removesuffix(_AS_IN_REGISTRIES)
    what = (software.replace("_", " "), _BASES[case["base"]], _bar(software))
    if "error" in case:
        failed = f"failed: {case['error'].replace('|', '/')[:200]}"
        return (*what, failed, *[""] * (len(HEAD) - 5), "**missed**")
    before, after = case["before"], case["after"]
    layers, packed = (
        _smaller_pct(before, after, key) for key in ("layer_bytes", "compressed_bytes")
    )
    runs = case["runs"]
    other = [
        f"{key.replace('_', ' ')}: {_short(how)}" for key, how in runs.items() if how != "equal"
    ]
    packages = case["packages"]
    delivered = all(how == "equal" for key, how in runs.items() if "strict" not in key)
    smaller = min(layers, packed) if software.startswith("torch") else layers
    met = delivered and smaller >= _BARS_PCT.get(software, 0)
    return (
        *what,
        f"{_mb(before['layer_bytes'])}→{_mb(after['layer_bytes'])}",
        f"{layers:.1f}%",
        f"{_mb(before['compressed_bytes'])}→{_mb(after['compressed_bytes'])}",
        f"{packed:.1f}%",
        f"{packages['none_stays']}/{packages['all']}",
        f"{before['setuid']}→{after['setuid']}",
        f"{before['shells']}→{after['shells']}",
        f"{len(runs) - len(other)}/{len(runs)}" + (f" ({', '.join(other)})" if other else ""),
        "met" if met else "**missed**",
    )


def _bar(software: str) -> str:
    if software not in _BARS_PCT:
        return "runs"
    return f"{_BARS_PCT[software]:g}%" + (", compressed too" * software.startswith("torch"))


def side_by_side() -> list[str]:
    """The table of how much smaller each way of choosing makes the layers, and whether it runs."""
    heads = ("image", *METHODS.values())
    made = [heads, ("---",) * len(heads)]
    for name, case in _cases().items():
        if "methods" in case:
            before = case["before"]
            ways = [_way(before, case["methods"][method]) for method in METHODS]
            made.append((_what(name, case), *ways))
    return [f"| {' | '.join(row)} |" for row in made]


def _what(name: str, case: Any) -> str:
    software = name.removesuffix(_AS_IN_REGISTRIES).replace("_", " ")
    return f"{software}: {_BASES[case['base']]}"


def _short(how: str) -> str:
    return how.replace("ended with exit code", "exit")


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
            f"at least {_TORCH_FILES_PCT:g} % smaller, compressed too",
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
    said = "runs" if set(runs) == {"equal"} else "; ".join(map(_short, dict.fromkeys(runs)))
    return f"{_smaller_pct(before, after, 'layer_bytes'):.1f}%, {said}"


def _smaller_pct(before: Any, after: Any, key: str) -> float:
    return float(100 * (1 - after[key] / before[key]))


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.{0 if size_bytes > 2e7 else 1}f}"
