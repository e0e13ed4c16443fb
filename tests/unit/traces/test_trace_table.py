"""Traces on disk: whole or not at all, and refused row by row."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from trimtab.errors import UserError
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import TRACE
from trimtab.traces.table import check_trace, read_trace, write_trace


def chunk(first: int = 0, rows: int = 4, **changed: object) -> pd.DataFrame:
    numbers = np.arange(first, first + rows)
    frame = pd.DataFrame(
        {
            "job": numbers,
            "arrival_s": numbers / 2,
            "job_class": "a",
            "priority": 0,
            "cpu_milli": 1000,
            "gpu_milli": 0,
            "memory_bytes": 2**40,
            "work_s": [None if n % 2 else 1.5 for n in numbers],
            "map_tasks": numbers % 2 * 50,
            "reduce_tasks": numbers % 2 * 20,
            "size": 1.0,
        }
    )
    return frame.assign(**changed)


def test_written_and_read_again_in_any_chunks(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "trace.parquet"
    assert write_trace(path, (chunk(first, 4) for first in range(0, 12, 4))) == 12
    whole = read_table(path, TRACE)
    assert whole["memory_bytes"].dtype == np.int64
    assert whole["work_s"].isna().tolist() == [False, True] * 6
    for rows in (1, 5, 100):
        chunks = list(read_trace(path, rows))
        assert max(map(len, chunks)) <= rows
        pd.testing.assert_frame_equal(pd.concat(chunks, ignore_index=True), whole)


def test_empty_chunks_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    assert write_trace(path, [chunk().iloc[:0], chunk(), chunk().iloc[:0]]) == 4
    with pytest.raises(UserError, match=r"trace\.parquet: the trace holds no job"):
        write_trace(path, [chunk().iloc[:0]])
    assert len(read_table(path, TRACE)) == 4


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("arrival_s", -1.0, "row 6: arrival_s is -1.0, expected seconds, 0 or more"),
        ("arrival_s", np.nan, "row 6: arrival_s is nan, expected a value in every row"),
        ("arrival_s", np.inf, "row 6: arrival_s is inf, expected seconds, 0 or more"),
        ("arrival_s", 2.25, "row 6: arrival_s is 2.25, expected at least that of the row before"),
        ("job", 7, "row 6: job is 7, expected the row's number"),
        ("job_class", None, "row 6: job_class is nan, expected a value in every row"),
        ("priority", np.nan, "row 6: priority is nan, expected a value in every row"),
        ("cpu_milli", 0, "row 6: cpu_milli is 0, expected at least 1"),
        ("gpu_milli", -5, "row 6: gpu_milli is -5, expected at least 0"),
        ("memory_bytes", -1, "row 6: memory_bytes is -1, expected at least 0"),
        ("work_s", -0.5, "row 6: work_s is -0.5, expected seconds, 0 or more"),
        ("work_s", np.nan, "row 6: work_s is nan, expected seconds, 0 or more"),
        ("work_s", np.inf, "row 6: work_s is inf, expected seconds, 0 or more"),
        ("map_tasks", -3, "row 6: map_tasks is -3, expected at least 0"),
        ("size", 0.0, "row 6: size is 0.0, expected a number above 0"),
        ("reduce_tasks", 3, "row 6: reduce_tasks is 3, expected 0 where map_tasks is 0"),
    ],
)
def test_bad_rows_are_named_and_nothing_is_written(
    tmp_path: Path, column: str, value: object, message: str
) -> None:
    bad = chunk(4)
    values = bad[column].tolist()
    values[2] = value
    bad[column] = values
    path = tmp_path / "trace.parquet"
    with pytest.raises(UserError) as caught:
        write_trace(path, [chunk(), bad])
    assert str(caught.value).startswith(f"{path}: {message}")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UserError) as caught:
        check_trace("x", bad, 4, 1.5)
    assert message in str(caught.value)


def test_order_holds_across_chunks() -> None:
    check_trace("x", chunk(4), 4, 2.0)
    with pytest.raises(UserError, match=r"row 4: arrival_s is 2\.0, expected at least"):
        check_trace("x", chunk(4), 4, 2.5)


def test_a_fraction_of_a_milli_core_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    with pytest.raises(UserError, match="was truncated"):
        write_trace(path, [chunk(cpu_milli=0.5 + 1)])
    assert not path.exists()


def test_reading_refuses_what_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    with pytest.raises(UserError, match="expected a trace as Parquet"):
        next(read_trace(path))
    path.write_text("job,arrival_s\n")
    with pytest.raises(UserError, match="expected a trace as Parquet"):
        next(read_trace(path))
    chunk().drop(columns="work_s").to_parquet(path)
    with pytest.raises(UserError, match=r"columns \['job', "):
        next(read_trace(path))
    chunk(cpu_milli="four").to_parquet(path)
    with pytest.raises(UserError, match="column cpu_milli is str, expected numbers"):
        next(read_trace(path))
    chunk(1).to_parquet(path)
    with pytest.raises(UserError, match="row 0: job is 1, expected the row's number"):
        next(read_trace(path))


def test_a_killed_writer_leaves_the_old_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    write_trace(path, [chunk()])
    before = path.read_bytes()

    def broken() -> object:
        yield chunk()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_trace(path, broken())
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["trace.parquet"]


def test_written_in_bounded_pieces(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    write_trace(path, (chunk(first, 100) for first in range(0, 1000, 100)))
    assert pq.ParquetFile(path).num_row_groups == 10
