"""Tables are written and read with exactly the columns that their schema lists."""

import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trimtab.errors import TrimtabError, UserError
from trimtab.records.parquet.files import read_table, write_table
from trimtab.records.parquet.limits import opened
from trimtab.records.tables import EPOCHS, LIBRARIES, RUNS

SCHEMA = pa.schema([("name", pa.string()), ("wait_s", pa.float64()), ("count", pa.int64())])
ROWS = pd.DataFrame({"name": ["a", "b"], "wait_s": [1.5, None], "count": [1, 2]})


def test_round_trip(tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", SCHEMA, ROWS[["count", "name", "wait_s"]])
    back = read_table(tmp_path / "t.parquet", SCHEMA)
    assert list(back.columns) == SCHEMA.names
    assert back["wait_s"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    "frame",
    [ROWS.drop(columns="count"), ROWS.assign(other=1), ROWS.assign(count=["x", "y"])],
    ids=["missing", "unknown", "another type"],
)
def test_other_columns_are_refused(tmp_path: Path, frame: pd.DataFrame) -> None:
    with pytest.raises(TrimtabError, match=r"t\.parquet"):
        write_table(tmp_path / "t.parquet", SCHEMA, frame)
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", SCHEMA, ROWS)
    with pytest.raises(TrimtabError, match=r"t\.parquet: columns of another .*'count'.* its stage"):
        read_table(tmp_path / "t.parquet", RUNS)


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"t\.parquet: missing; run its stage"):
        read_table(tmp_path / "t.parquet", SCHEMA)
    (tmp_path / "t.parquet").write_text("text")
    with pytest.raises(TrimtabError, match=r"t\.parquet: not a Parquet file"):
        read_table(tmp_path / "t.parquet", SCHEMA)


def test_a_folder_whose_name_is_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff") / "t.parquet"
    path.parent.mkdir()
    write_table(path, SCHEMA, ROWS)
    assert len(read_table(path, SCHEMA)) == 2


def in_rows(count: int, values: pa.Array) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pa.array(["x" * 100_000]), "texts of more than 268,435,456 bytes in 262,144 rows"),
        (pa.array([b"x" * 1000], pa.binary(1000)), "column name: expected numbers or texts"),
        (pa.array([["x"] * 1000]), "column name.list.element: expected numbers or texts"),
    ],
)
def test_one_value_in_many_rows_is_not_written_out(
    tmp_path: Path, values: pa.Array, words: str
) -> None:
    """A dictionary holds it once, so that some kilobytes would become 500 MB."""
    name = in_rows(5000, values) if pa.types.is_string(values.type) else values.take([0] * 5000)
    columns = {"name": name, "wait_s": pa.nulls(5000, pa.float64()), "count": [1] * 5000}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", compression="zstd")
    assert (tmp_path / "t.parquet").stat().st_size < 1 << 20
    before_bytes = pa.total_allocated_bytes()
    with pytest.raises(TrimtabError, match=f"t.parquet: {words}"):
        read_table(tmp_path / "t.parquet", SCHEMA)
    assert pa.total_allocated_bytes() - before_bytes < 1 << 20


@pytest.mark.parametrize("schema", [RUNS, EPOCHS, LIBRARIES])
def test_every_quantity_has_a_unit_in_its_name(schema: pa.Schema) -> None:
    units = ("_s", "_bytes", "_j", "_w", "_share")
    for field in schema:
        if pa.types.is_floating(field.type) and field.name not in (
            "cycles", "instructions", "cache_references", "cache_misses", "branches",
            "branch_misses",
        ):  # fmt: skip
            assert field.name.endswith(units), field.name


def test_arrow_reads_by_itself_whatever_the_name(tmp_path: Path) -> None:
    """By a file of Python, a process that ended with a read under way waited without end."""
    path = tmp_path / os.fsdecode(b"\xff.parquet")
    path.write_bytes(b"PAR1")
    with opened(path) as file:
        assert type(file) is pa.OSFile and file.read() == b"PAR1"
