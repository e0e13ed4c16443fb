"""The rows of characterized learning workloads in benchmarks/README.md."""

from collections.abc import Iterator
from typing import Any

from common import load

Row = tuple[str, str, str, str]
RESULTS = ("characterization",)
_LARGE, _SMALL, _STANDALONE = (
    "characterization",
    "characterization_small",
    "characterization_standalone",
)
_LEAST_SHARE, _MOST_OWN_PCT, _MOST_SMALL_S = 2 / 3, 5.0, 240.0


def rows() -> list[Row]:
    """What, bar, measured and verdict of what ran."""
    found: Any = load("characterization")
    return list(_rows(found["experiments"])) if found else []


def _rows(experiments: dict[str, Any]) -> Iterator[Row]:
    if large := experiments.get(_LARGE):
        counts = (large["workloads"], large["data_sets"], large["methods"])
        yield (
            f"workloads characterized on a real Spark (`{_LARGE}`)",
            "at least 12, over 4 data sets and 10 methods",
            f"{counts[0]} workloads, {counts[1]} data sets, {counts[2]} methods;"
            f" {large['runs']:,} runs of {large['repeats']} repeats, {large['failed']} failed, in"
            f" {large['took_s'] / 60:.0f} min",
            _met(counts[0] >= 12 and counts[1] >= 4 and counts[2] >= 10),
        )
        joint = large["joint"]
        if joint["shown"]:
            yield (
                "platform and hyperparameters tuned together, against the better of one level, at"
                " equal budget",
                "as good in training time or quality on two thirds of the workloads",
                f"as good on {joint['as_good']} of {joint['shown']} (95 %:"
                f" {joint['low_pct']:.0f} to {joint['high_pct']:.0f} % of such), better on"
                f" {joint['better']}",
                _met(joint["as_good"] / joint["shown"] >= _LEAST_SHARE),
            )
        yield (
            "our own part of the time of runs",
            f"at most {_MOST_OWN_PCT:g} %",
            f"{large['own_pct']:.1f} %",
            _met(large["own_pct"] <= _MOST_OWN_PCT),
        )
    for name, engine in ((_SMALL, "local"), (_STANDALONE, "stand-alone")):
        if small := experiments.get(name):
            yield (
                f"`{name}`, {engine}: {small['runs']} runs, {small['failed']} failed",
                f"at most {_MOST_SMALL_S / 60:g} min",
                f"{small['took_s'] / 60:.1f} min",
                _met(small["took_s"] <= _MOST_SMALL_S and not small["failed"]),
            )


def _met(met: bool) -> str:
    return "met" if met else "**missed**"
