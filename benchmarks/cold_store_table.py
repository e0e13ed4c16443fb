"""The table of benchmarks/README.md on a node's cold store."""

from typing import Any

from common import load

RESULTS = ("cold_store",)
_FROM = {
    "cold": "the registry, the index at hand",
    "cold, index too": "the registry, the index too",
    "cache": "the node's cache",
    "cache, restarted": "the cache of an earlier server, checked anew",
}


def rows() -> list[tuple[str, str, str, str]]:
    """What, bar, measured and verdict of each size and source, and of many nodes."""
    figures: Any = load("cold_store")
    if not figures:
        return []
    nodes = figures["nodes"]
    met = nodes["failed"] == 0 and nodes["most_ranges_of_a_node"] <= 1
    what = f"{nodes['nodes']} nodes, {nodes['clients_of_each']} clients each miss one piece at once"
    measured = f"{nodes['failed']} failed, at most {nodes['most_ranges_of_a_node']} request a node"
    return [
        *(_row(row, figures["runs"]) for row in figures["files"]),
        (what, "no failure, one request a node", measured, "met" if met else "**missed**"),
    ]


def _row(row: Any, runs: int) -> tuple[str, str, str, str]:
    what = f"{row['file_mb']} MB from {_FROM[row['from']]}, a registry at 20 ms, {runs} runs"
    measured = f"{row['median_ms']} ms ({row['least_ms']} to {row['most_ms']})"
    met = row["median_ms"] <= row["bar_ms"]
    return what, f"at most {row['bar_ms']} ms", measured, "met" if met else "**missed**"
