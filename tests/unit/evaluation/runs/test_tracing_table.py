"""What tracing costs, pair by pair, beside no tracing and beside a profiler."""

from pathlib import Path
from typing import Any

import experiment_files as files
import pytest

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.report.tables import Row, is_published
from trimtab.evaluation.runs.effort import DebloatingTime


def rows_of(tmp_path: Path, runs: list[dict[str, Any]] | None = None) -> list[Row]:
    profile = files.write_profile(tmp_path / "p", runs=runs)
    inputs = files.inputs([profile], [files.write_debloat(tmp_path / "d")])
    _, table = DebloatingTime(load(inputs)).tables
    assert [row["wall_overhead_pct"] for row in table.rows if is_published(row)] == [41, 126]
    return [row for row in table.rows if not is_published(row)]


def test_tracing_is_compared_with_the_original_runs(tmp_path: Path) -> None:
    (row,) = rows_of(tmp_path)
    assert (row["condition"], row["pairs"]) == ("traced_functions", 2)
    assert (row["original_s"], row["wall_s"]) == (10, 11.5)
    assert row["wall_overhead_pct"] == pytest.approx(15)
    assert row["wall_overhead_low_pct"] == pytest.approx(10)
    assert row["wall_overhead_high_pct"] == pytest.approx(20)
    assert row.get("over_profiler_pct") is None


def test_every_way_of_tracing_is_compared_with_the_profiler_too(tmp_path: Path) -> None:
    wall_s = {  # two rounds of runs; the second machine was half as fast
        "original": (10, 20),
        "traced_kernels": (10.2, 20.6),
        "traced": (11, 24),
        "cupti_activity": (20, 50),
    }
    runs = [
        files.run("lenet5_train", condition, repeat, wall_s=seconds)
        for condition, both in wall_s.items()
        for repeat, seconds in enumerate(both)
    ]
    kernels, both, profiler = rows_of(tmp_path, runs)
    assert [row["condition"] for row in (kernels, both, profiler)] == [
        "traced_kernels",
        "traced",
        "cupti_activity",
    ]
    assert kernels["wall_overhead_pct"] == pytest.approx(2.5)  # of 2 and 3 %
    # 10.2 / 20 and 20.6 / 50: pair by pair, not mean by mean.
    assert kernels["over_profiler_low_pct"] == pytest.approx(-58.8)
    assert kernels["over_profiler_high_pct"] == pytest.approx(-49)
    assert kernels["over_profiler_pct"] == pytest.approx(-53.9)
    assert both["over_profiler_pct"] == pytest.approx(-48.5)
    assert profiler["wall_overhead_pct"] == pytest.approx(125)
    assert profiler.get("over_profiler_pct") is None
