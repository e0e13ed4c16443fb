"""Tables as Parquet files: written atomically, and every value checked when read."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trimtab.errors import TrimtabError, UserError
from trimtab.files import atomic_write
from trimtab.records.parquet.limits import AGAIN, BATCH_ROWS, check_parquet, opened
from trimtab.records.tables import MAY_BE_NEGATIVE, NEVER_NULL, WORDS


def write_table(path: Path, schema: pa.Schema, frame: pd.DataFrame) -> None:
    """Write `frame` as Parquet with exactly the columns of `schema`.

    Raises TrimtabError if columns are missing, unknown or of another type.
    """
    if set(frame.columns) != set(schema.names):
        raise TrimtabError(f"{path}: columns: {_mismatch(frame.columns, schema)}")
    try:
        table = pa.Table.from_pandas(frame[schema.names], schema, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TrimtabError(f"{path}: {error}") from None
    # Arrow itself only takes paths in UTF-8.
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        pq.write_table(table, file, compression="zstd")


def read_table(path: Path, schema: pa.Schema) -> pd.DataFrame:
    """Return the Parquet file at `path` after checking every value against `schema`.

    Raises as `check_table` does, and TrimtabError for more rows than fit into memory.
    """
    check_table(path, schema)
    with _damage_named(path):
        check_parquet(path, whole=True)
        with opened(path) as file:
            frame: pd.DataFrame = pq.read_table(file).to_pandas(ignore_metadata=True)
    return frame


def check_table(path: Path, schema: pa.Schema) -> Path:
    """Return `path` after checking the columns, their types and all rows of a Parquet file.

    Memory is bounded by the row groups of the file. Raises UserError if the file is missing. Raises
    TrimtabError if it is no Parquet, has other columns, for example of an older version, or invalid
    values.
    """
    with _damage_named(path):
        check_parquet(path)
        with opened(path) as native, pq.ParquetFile(native) as file:
            _check_columns(path, file.schema_arrow, schema)
            for batch in file.iter_batches(BATCH_ROWS):
                batch.validate(full=True)  # strings must be UTF-8
                for name in schema.names:
                    if problem := _problem_in(name, batch[name]):
                        raise TrimtabError(f"{path}: column {name}: {problem}; {AGAIN}")
    return path


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{path}: missing; run its stage first") from None
    except (pa.ArrowException, OSError) as error:
        why = " ".join(str(error).split())[:300]
        raise TrimtabError(f"{path}: not a Parquet file, or damaged: {why}; {AGAIN}") from None


def _check_columns(path: Path, found: pa.Schema, schema: pa.Schema) -> None:
    if found.names != schema.names:
        raise TrimtabError(
            f"{path}: columns of another version: {_mismatch(found.names, schema)}; {AGAIN}"
        )
    for given, expected in zip(found, schema, strict=True):
        if given.type != expected.type:
            raise TrimtabError(
                f"{path}: column {given.name}: {given.type}, expected {expected.type}; {AGAIN}"
            )


def _problem_in(name: str, column: pa.Array) -> str:
    """Return the problem with the values of a column, or ""."""
    if name in NEVER_NULL and column.null_count:
        return f"{column.null_count} rows have none, expected a value in every row"
    if pa.types.is_string(column.type):
        strange = set(column.unique().to_pylist()) - {None} - WORDS.get(name, set())
        if name in WORDS and strange:
            return f"{min(strange)!r}, expected one of {', '.join(sorted(WORDS[name]))}"
    elif not pa.types.is_boolean(column.type):
        bounds = pc.min_max(column).as_py()
        least, most = bounds["min"], bounds["max"]
        if pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py():
            return "holds an infinite number"
        if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
            return "holds what is no number"
        if least is not None and least < 0 and name not in MAY_BE_NEGATIVE:
            return f"{least}, expected 0 or more"
        if most is not None and most > 1 and name.endswith("_share"):
            return f"{most}, expected a share, 0 to 1"
    return ""


def _mismatch(names: Iterable[str], schema: pa.Schema) -> str:
    there, expected = set(names), set(schema.names)
    missing, unknown = sorted(expected - there), sorted(there - expected)
    return f"missing {missing}, unknown {unknown}" if missing or unknown else "another order"
