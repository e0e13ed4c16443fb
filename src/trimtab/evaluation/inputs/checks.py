"""What is checked of the files of every stage."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from trimtab.errors import TrimtabError, UserError
from trimtab.records.parquet.files import read_table


def folders_of(files: Sequence[Path], name: str) -> list[Path]:
    """Return the folders of those of `files` that have this name."""
    return [path.parent for path in files if path.name == name]


def read_rows(path: Path, schema: pa.Schema) -> pd.DataFrame:
    """Return a table that has rows; raises as `read_table` does, and TrimtabError without any."""
    frame = read_table(path, schema)
    if frame.empty:
        raise TrimtabError(f"{path}: no rows")
    return frame


def refuse_twice(what: str, keys: Iterable[tuple[Any, ...]]) -> None:
    """Raise UserError, which says `what` it is, for a key that comes twice."""
    seen = set()
    for key in keys:
        if key in seen:
            raise UserError(f"{what} {' / '.join(map(str, key))} is given twice")
        seen.add(key)


def keys_of(frame: pd.DataFrame, *columns: str) -> Iterable[tuple[Any, ...]]:
    """Return the values of these columns, row by row."""
    return frame[list(columns)].itertuples(index=False, name=None)
