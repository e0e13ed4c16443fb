"""Figures 5 and 6: what they draw, and that what they draw adds up."""

from pathlib import Path
from typing import Any

import experiment_files as files
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.evaluation.inputs import Measurements, Target, load
from trimtab.evaluation.library_figures import figure_5, figure_6, pareto


@pytest.fixture
def measurements(tmp_path: Path) -> Measurements:
    return load(files.write_experiment(tmp_path))


def target_of(rows: list[dict[str, Any]]) -> Target:
    empty = pd.DataFrame()
    return Target("t", "desk", ("w",), {}, {}, pd.DataFrame(rows), empty)


def test_the_pareto_chart_ranks_and_accumulates(measurements: Measurements) -> None:
    rows = pareto(measurements.targets[0])
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
    rows = pareto(target_of([files.library(f"{i}.so", disk) for i, disk in enumerate(sizes)]))
    total = sum(before - after for before, after in sizes)
    saved = [row["saved_mb"] for row in rows]
    assert saved == sorted(saved, reverse=True)
    assert sum(saved) * 1e6 == pytest.approx(total)
    if total:
        assert rows[-1]["cumulative_pct"] == pytest.approx(100)
    else:
        assert rows[-1]["cumulative_pct"] is None


def test_violins_leave_out_libraries_without_functions(measurements: Measurements) -> None:
    size, count = figure_5(measurements)
    reductions = {
        r["library"]: r["reduction_pct"] for r in files.values_in(size.spec) if "library" in r
    }
    assert reductions == {"lib/libbig.so": 90, "lib/libmid.so": 75, "lib/libsmall.so": 0}
    counts = {
        r["library"]: r["reduction_pct"] for r in files.values_in(count.spec) if "library" in r
    }
    assert counts == {"lib/libbig.so": 90, "lib/libmid.so": 90, "lib/libsmall.so": 0}


def test_only_the_median_that_the_paper_states_is_marked(measurements: Measurements) -> None:
    size, count = figure_5(measurements)
    assert '{"datum": 25}' in str(size.spec).replace("'", '"')
    assert "datum" not in str([layer["encoding"] for layer in count.spec["spec"]["layer"]])
    assert "25 %" in size.caption
    assert "no median" in count.caption


def test_each_figure_is_drawn(measurements: Measurements, tmp_path: Path) -> None:
    for figure in (*figure_5(measurements), figure_6(measurements)):
        svg = figure.write_svg(tmp_path).read_text()
        assert svg.startswith("<svg") and svg.rstrip().endswith("</svg>")
        assert svg.count("<path") > 4
    assert "8 of 113 libraries" in figure.caption


@pytest.mark.parametrize("rows", [[files.library("only.so", (10, 10), (0, 0), (0, 0), "no code")]])
def test_an_experiment_with_nothing_to_show_still_draws(rows: list[dict[str, Any]]) -> None:
    measurements = Measurements(files.inputs([], []), (target_of(rows),), ())
    for figure in (*figure_5(measurements), figure_6(measurements)):
        assert "<svg" in figure.svg
