"""Tables of comma-separated values, plain or compressed by gzip, read in bounded memory."""

import csv
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv

from trimtab.errors import UserError
from trimtab.traces.text_file import open_text

_BLOCK_BYTES = 4 * 2**20


def read_csv(
    path: Path,
    types: Mapping[str, pa.DataType],
    expected: str,
    names: Sequence[str] | None = None,
) -> Iterator[pd.DataFrame]:
    """Yield the columns `types` of the file at `path`, in frames of about 4 MiB of text.

    `names` are all columns of a file without a header; None: the first line names them. Empty
    fields and the text nan are missing values. Whole numbers with missing values become floats.
    Raises UserError with the file, the missing columns or the line, and the format `expected`.
    """
    if names is None:
        header = csv_header(path, expected)
        if missing := [name for name in types if name not in header]:
            raise UserError(f"{path}: no column {', '.join(missing)}; expected {expected}")
    options = {
        "read_options": pa.csv.ReadOptions(
            column_names=names, block_size=_BLOCK_BYTES, use_threads=False
        ),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict(types), include_columns=list(types), strings_can_be_null=True
        ),
    }
    try:
        with open_text(path) as text, pa.csv.open_csv(text, **options) as reader:
            for batch in reader:
                yield batch.to_pandas()
    except (OSError, EOFError, ValueError, zlib.error, pa.ArrowException) as error:
        raise UserError(f"{path}: {error}; expected {expected}") from None


def whole_csv(
    path: Path,
    types: Mapping[str, pa.DataType],
    expected: str,
    names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Return the frames of `read_csv` as one; raises UserError also for a file without rows."""
    frames = list(read_csv(path, types, expected, names))
    if not frames:
        raise UserError(f"{path}: holds no row; expected {expected}")
    return pd.concat(frames)


def csv_header(path: Path, expected: str) -> list[str]:
    """Return the column names in the first line of the file at `path`; UserError if unreadable."""
    try:
        with io.TextIOWrapper(open_text(path), encoding="utf-8-sig", newline="") as file:
            return next(csv.reader(file), [])
    except (OSError, EOFError, ValueError, zlib.error, csv.Error) as error:
        raise UserError(f"{path}: {error}; expected {expected}") from None
