"""The rows of characterized learning workloads in benchmarks/README.md."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from common import load
from scipy.stats import binomtest

Row = tuple[str, str, str, str]
RESULTS = ("characterization",)
_METRICS = {"train_s": "training time", "quality": "quality"}
# What is run to characterize, and what is in small.
_LARGE = ("characterization", "characterization_networks")
_SMALL = ("characterization_small", "characterization_standalone")
_LEAST_SHARE, _MOST_OWN_PCT, _MOST_SMALL_S = 2 / 3, 5.0, 240.0


def rows() -> list[Row]:
    """What, bar, measured and verdict of what ran."""
    found: Any = load("characterization")
    experiments = found["experiments"] if found else {}
    large = {name: experiments[name] for name in _LARGE if name in experiments}
    made = list(_of_large(large)) if large else []
    return [*made, *(_of_small(name, experiments[name]) for name in _SMALL if name in experiments)]


def _of_large(large: dict[str, Any]) -> Iterator[Row]:
    kinds = ("workloads", "data_sets", "methods")
    every = {kind: {name for one in large.values() for name in one[kind]} for kind in kinds}
    workloads, data_sets, methods = (len(every[kind]) for kind in kinds)
    yield (
        f"workloads characterized on a real Spark ({', '.join(f'`{name}`' for name in large)})",
        "at least 12, over 4 data sets and 10 methods",
        f"{workloads} workloads, {data_sets} data sets, {methods} methods; "
        + "; ".join(
            f"{one['runs']} runs of {one['repeats']} repeats, {one['failed']} failed, in"
            f" {one['took_s'] / 60:.0f} min"
            for one in large.values()
        ),
        _met(workloads >= 12 and data_sets >= 4 and methods >= 10),
    )
    joint = [one["joint"] for one in large.values()]
    as_good, shown = (sum(one[key] for one in joint) for key in ("better_or_equal", "shown"))
    if shown:
        interval = binomtest(as_good, shown).proportion_ci(method="wilson")
        yield (
            "platform and hyperparameters tuned together, against the better of one level, at"
            " equal budget",
            "better or equal in training time or quality on two thirds of the workloads",
            f"better or equal on {as_good} of {shown} (of such workloads, 95 %:"
            f" {100 * interval.low:.0f} to {100 * interval.high:.0f} %); "
            + "; ".join(_by_verdict(joint, metric, words) for metric, words in _METRICS.items()),
            _met(as_good / shown >= _LEAST_SHARE),
        )
    yield (
        "our own part of the time of runs",
        f"at most {_MOST_OWN_PCT:g} % of the rest",
        ", ".join(f"`{name}` {one['own_pct']:.1f} %" for name, one in large.items()),
        _met(max(one["own_pct"] for one in large.values()) <= _MOST_OWN_PCT),
    )


def _by_verdict(joint: list[dict[str, Any]], metric: str, words: str) -> str:
    verdicts = Counter(
        each[metric] for one in joint for each in one["verdicts"].values() if metric in each
    )
    counts = ", ".join(f"{word} {verdicts[word]}" for word in ("better", "equal", "worse"))
    return f"{words}: {counts}"


def _of_small(name: str, small: dict[str, Any]) -> Row:
    return (
        f"`{name}`: {small['runs']} runs, {small['failed']} failed",
        f"at most {_MOST_SMALL_S / 60:g} min",
        f"{small['took_s'] / 60:.1f} min",
        _met(small["took_s"] <= _MOST_SMALL_S and not small["failed"]),
    )


def _met(met: bool) -> str:
    return "met" if met else "**missed**"
