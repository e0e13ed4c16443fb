"""The Pareto chart: what it draws, and that what it draws adds up."""

from pathlib import Path

import experiment_files as files
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.by_library import Savings, pareto


def test_the_pareto_chart_ranks_and_accumulates(tmp_path: Path) -> None:
    rows = pareto(load(files.write_experiment(tmp_path)).targets[0])
    assert [row["library"].removeprefix("lib/lib") for row in rows] == [
        "big.so",
        "mid.so",
        "data.so",
        "small.so",
    ]
    assert [row["saved_mb"] for row in rows] == [6, 3, 1, 0]
    assert [row["cumulative_pct"] for row in rows] == [60, 90, 100, 100]


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=30))
def test_the_shares_end_at_100_pct_and_bars_fall(sizes: list[tuple[int, int]]) -> None:
    rows = pareto(files.target_of([files.library(f"{i}.so", disk) for i, disk in enumerate(sizes)]))
    total = sum(before - after for before, after in sizes)
    saved = [row["saved_mb"] for row in rows]
    assert saved == sorted(saved, reverse=True)
    assert sum(saved) * 1e6 == pytest.approx(total)
    if total:
        assert rows[-1]["cumulative_pct"] == pytest.approx(100)
    else:
        assert rows[-1]["cumulative_pct"] is None


def test_the_figure_is_drawn(tmp_path: Path) -> None:
    figure = Savings(load(files.write_experiment(tmp_path))).figures[0]
    svg = figure.write_svg(tmp_path).read_text()
    assert svg.startswith("<svg") and svg.rstrip().endswith("</svg>")
    assert svg.count("<path") > 4
    assert "8 of 113 libraries" in figure.caption


def test_an_experiment_with_nothing_to_show_still_draws() -> None:
    only = files.library("only.so", (10, 10), (0, 0), (0, 0), "no code")
    measurements = Measurements(files.inputs([], []), {"debloat": (files.target_of([only]),)})
    assert "<svg" in Savings(measurements).figures[0].svg
