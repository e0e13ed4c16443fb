"""Limits for the memory that a Parquet file needs, independent of its length.

Row groups are compressed, and a dictionary holds one copy of a string for many rows: a file of 16
kB may expand to gigabytes of strings.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from trimtab.errors import TrimtabError
from trimtab.files import open_regular

AGAIN = "run its stage again"
MOST_ROWS = 10_000_000  # of a table that is read at once
BATCH_ROWS = 1 << 18
_MOST_BYTES = 1 << 30  # of a row group, and of the strings of a table that is read at once
_MOST_BATCH_BYTES = 1 << 28  # of the strings of a batch
_MOST_FIXED_BYTES = 16  # of a decimal number


@contextmanager
def opened(path: Path) -> Iterator[pa.NativeFile]:
    """Yield the regular file at `path` for Arrow to read; raises as `open_regular` does.

    Arrow only takes paths in UTF-8. It would read a Python file in threads that need Python's lock;
    at its end a process holds the lock while it waits for these threads.
    """
    with open_regular(path) as file, pa.OSFile(f"/proc/self/fd/{file.fileno()}") as native:
        yield native


def check_parquet(
    path: Path, columns: Collection[str] | None = None, *, whole: bool = False
) -> None:
    """Raise TrimtabError for a missing file, or one that needs too much memory.

    This is the memory to read its `columns`, or all, in batches of up to 262,144 rows, or `whole`.
    Raises as pyarrow does for files other than Parquet.
    """
    with opened(path) as file:
        facts = pq.read_metadata(file)
    for group in map(facts.row_group, range(facts.num_row_groups)):
        if group.total_byte_size > _MOST_BYTES or group.num_rows > MOST_ROWS:
            raise TrimtabError(
                f"{path}: a row group above {_MOST_BYTES:,} bytes or {MOST_ROWS:,} rows; {AGAIN}"
            )
    if whole and facts.num_rows > MOST_ROWS:
        raise TrimtabError(
            f"{path}: {facts.num_rows:,} rows, expected at most {MOST_ROWS:,}; {AGAIN}"
        )
    texts = _texts_in(path, facts.schema, columns)
    if texts:
        _check_texts(path, texts, whole)


def _texts_in(path: Path, schema: pq.ParquetSchema, columns: Collection[str] | None) -> list[str]:
    """Return the string columns; raises TrimtabError for types that our tables do not have."""
    texts = []
    for column in map(schema.column, range(len(schema))):
        if columns is not None and column.path not in columns:
            continue
        fixed = column.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else 0
        if column.max_repetition_level or fixed > _MOST_FIXED_BYTES:
            raise TrimtabError(
                f"{path}: column {column.path}: expected numbers or texts, one in a row; {AGAIN}"
            )
        if column.physical_type == "BYTE_ARRAY":
            texts.append(column.path)
    return texts


def _check_texts(path: Path, columns: list[str], whole: bool) -> None:
    """Raise TrimtabError if all strings together are too long; dictionaries save memory here."""
    left_bytes = _MOST_BYTES
    with opened(path) as native, pq.ParquetFile(native, read_dictionary=columns) as file:
        for batch in file.iter_batches(BATCH_ROWS, columns=columns):
            size_bytes = sum(map(_bytes_of, pa.Table.from_batches([batch]).flatten().columns))
            left_bytes -= size_bytes if whole else 0
            if size_bytes > _MOST_BATCH_BYTES or left_bytes < 0:
                raise TrimtabError(
                    f"{path}: texts of more than {_MOST_BATCH_BYTES:,} bytes in {BATCH_ROWS:,}"
                    f" rows, or of {_MOST_BYTES:,} in all; {AGAIN}"
                )


def _bytes_of(texts: pa.ChunkedArray) -> int:
    """Return the total length of strings, counted in each row."""
    total = 0
    for chunk in texts.chunks:
        lengths = pc.binary_length(chunk.dictionary).cast(pa.int64())
        total += pc.sum(lengths.take(chunk.indices)).as_py() or 0
    return total
