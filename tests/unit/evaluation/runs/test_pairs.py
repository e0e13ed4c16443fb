"""Pairs of interleaved runs, by hand and by what must not change them."""

import experiment_files as files
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.evaluation.runs.pairs import compare, spread_column


def runs(pairs: list[tuple[float, float]], **changes: object) -> pd.DataFrame:
    return pd.DataFrame(
        [
            files.run("w", condition, repeat, wall_s=wall_s, **changes)
            for repeat, pair in enumerate(pairs)
            for condition, wall_s in zip(("original", "debloated"), pair, strict=True)
        ]
    )


def test_the_median_and_the_ends_are_those_of_the_pairs() -> None:
    comparison = compare(runs(files.WALL_S), "wall_s")
    assert comparison is not None
    assert comparison.pairs == 3
    assert (comparison.original, comparison.other) == (12, 9)
    # Ratios 0.9, 0.8, 0.5; the ratio of the medians would be 0.75.
    expected = {"wall_pct": 20, "wall_low_pct": 10, "wall_high_pct": 50}
    assert comparison.reduction("wall") == pytest.approx(expected)
    column = spread_column("wall", "less, %")
    assert [column.key, *(column.spread or ())] == [*expected]


def test_a_slower_run_is_a_negative_reduction() -> None:
    comparison = compare(runs([(10, 12)]), "wall_s")
    assert comparison is not None
    assert comparison.reduction("wall")["wall_pct"] == pytest.approx(-20)
    assert comparison.increase("wall")["wall_pct"] == pytest.approx(20)


def test_a_failed_run_takes_its_pair_with_it() -> None:
    frame = runs(files.WALL_S)
    frame.loc[(frame["repeat"] == 2) & (frame["condition"] == "debloated"), "ended_well"] = False
    comparison = compare(frame, "wall_s")
    assert comparison is not None
    assert comparison.pairs == 2
    assert comparison.original == 15
    assert comparison.reduction("wall")["wall_high_pct"] == pytest.approx(20)


def test_a_quantity_that_was_not_measured_has_no_comparison() -> None:
    assert compare(runs(files.WALL_S, start_up_s=None), "start_up_s") is None
    assert compare(runs(files.WALL_S, ended_well=False), "wall_s") is None
    assert compare(runs([(0.0, 1.0)]), "wall_s") is None
    assert compare(runs([]).reindex(columns=runs([(1, 1)]).columns), "wall_s") is None


seconds = st.floats(0.01, 1e4)


@given(st.lists(st.tuples(seconds, seconds, st.floats(0.1, 10)), min_size=1, max_size=8))
def test_drift_that_falls_on_both_runs_of_a_pair_changes_no_ratio(
    drifting: list[tuple[float, float, float]],
) -> None:
    still = compare(runs([(a, b) for a, b, _ in drifting]), "wall_s")
    moved = compare(runs([(a * d, b * d) for a, b, d in drifting]), "wall_s")
    assert still is not None and moved is not None
    assert moved.ratio == pytest.approx(still.ratio)
    assert moved.ratio_low == pytest.approx(still.ratio_low)
    assert moved.ratio_high == pytest.approx(still.ratio_high)
    assert still.ratio_low <= still.ratio <= still.ratio_high
