"""Files of the earlier stages, read so that each error names its file."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from trimtab.errors import TrimtabError, UserError
from trimtab.files import read_json
from trimtab.records.tables import read_table


def require(folder: Path, names: Iterable[str], stage: str) -> None:
    """Raise UserError, naming the stage to run, where one of the files is missing."""
    for name in names:
        if not (folder / name).is_file():
            raise UserError(f"{folder / name}: missing; run the stage `{stage}` first")


def document(path: Path, keys: Iterable[str]) -> dict[str, Any]:
    """Return a JSON object after checking that it has `keys`; raises TrimtabError."""
    try:
        found = read_json(path)
    except ValueError as error:
        raise TrimtabError(f"{path}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise TrimtabError(f"{path}: expected an object with the keys {', '.join(keys)}")
    missing = [key for key in keys if key not in found]
    if missing:
        raise TrimtabError(f"{path}: lacks {', '.join(missing)}; make it again")
    return found


def table(path: Path, schema: pa.Schema, may_be_empty: bool = False) -> pd.DataFrame:
    """Return a Parquet table of `schema`; raises TrimtabError."""
    try:
        frame = read_table(path, schema)
    except pa.ArrowInvalid as error:
        raise TrimtabError(f"{path}: not a Parquet file: {error}") from None
    if frame.empty and not may_be_empty:
        raise TrimtabError(f"{path}: no rows")
    return frame


def refuse_twice(what: str, keys: Iterable[tuple[Any, ...]]) -> None:
    """Raise UserError where a key is there twice."""
    seen = set()
    for key in keys:
        if key in seen:
            raise UserError(f"{what} {' / '.join(map(str, key))} is given twice")
        seen.add(key)
