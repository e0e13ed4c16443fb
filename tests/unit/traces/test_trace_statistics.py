"""Statistics from chunks are those of the whole table."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from trimtab.records.tables import TRACE
from trimtab.traces.table import arrivals_by_class, class_statistics, write_trace

ROWS = 250_000  # several chunks
MEANS = ["work_s", "cpu_milli", "gpu_milli", "memory_bytes"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """Three classes, of which "staged" draws its times when it starts and "late" comes last."""
    rng = np.random.default_rng(4)
    names = rng.choice(["plain", "staged"], ROWS)
    names[-5:] = "late"
    table = pd.DataFrame(
        {
            "job": np.arange(ROWS),
            "arrival_s": np.sort(rng.uniform(0, 1000, ROWS)),
            "job_class": names,
            "priority": 0,
            "cpu_milli": rng.integers(1, 64_000, ROWS),
            "gpu_milli": rng.integers(0, 8000, ROWS),
            "memory_bytes": rng.integers(0, 2**40, ROWS),
            "work_s": np.where(names == "staged", np.nan, rng.exponential(5.0, ROWS)),
            "map_tasks": np.where(names == "staged", 3, 0),
            "reduce_tasks": 0,
            "size": 1.0,
        }
    )[TRACE.names]
    path = tmp_path_factory.mktemp("trace") / "trace.parquet"
    write_trace(path, (table.iloc[start : start + 70_000] for start in range(0, ROWS, 70_000)))
    return path, table


def test_counts_and_means(trace: tuple[Path, pd.DataFrame]) -> None:
    path, table = trace
    found, last_arrival_s = class_statistics(path)
    assert last_arrival_s == table["arrival_s"].max()
    assert list(found.index) == ["late", "plain", "staged"]
    by_class = table.groupby("job_class")
    assert found["jobs"].to_dict() == by_class.size().to_dict()
    assert found["without_work"].to_dict() == {
        "late": 0, "plain": 0, "staged": by_class.size()["staged"]
    }  # fmt: skip
    pd.testing.assert_frame_equal(
        found[MEANS], by_class[MEANS].mean(), rtol=1e-12, check_names=False
    )


def test_arrivals_in_bins(trace: tuple[Path, pd.DataFrame]) -> None:
    path, table = trace
    edges_s = np.linspace(0.0, table["arrival_s"].max(), 11)
    found = arrivals_by_class(path, edges_s)
    assert sum(map(sum, found.values())) == ROWS
    for name, group in table.groupby("job_class"):
        assert found[str(name)] == np.histogram(group["arrival_s"], edges_s)[0].tolist()
