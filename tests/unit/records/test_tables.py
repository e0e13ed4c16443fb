"""Tables are written and read with exactly the columns that their schema lists."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from trimtab.errors import TrimtabError, UserError
from trimtab.records.tables import EPOCHS, LIBRARIES, RUNS, read_table, write_table

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


@pytest.mark.parametrize("schema", [RUNS, EPOCHS, LIBRARIES])
def test_every_quantity_has_a_unit_in_its_name(schema: pa.Schema) -> None:
    units = ("_s", "_bytes", "_j", "_w", "_share")
    for field in schema:
        if pa.types.is_floating(field.type) and field.name not in (
            "cycles", "instructions", "cache_references", "cache_misses", "branches",
            "branch_misses",
        ):  # fmt: skip
            assert field.name.endswith(units), field.name
