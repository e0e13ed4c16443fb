"""What the tables of the earlier stages have to hold before anything is made of them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from trimtab.errors import TrimtabError, UserError
from trimtab.records.tables import read_table


def read_rows(path: Path, schema: pa.Schema) -> pd.DataFrame:
    """Return a table that has rows; raises as `read_table` does, and TrimtabError without any."""
    frame = read_table(path, schema)
    if frame.empty:
        raise TrimtabError(f"{path}: no rows")
    return frame


def refuse_twice(what: str, keys: Iterable[tuple[Any, ...]]) -> None:
    """Raise UserError where a key is there twice."""
    seen = set()
    for key in keys:
        if key in seen:
            raise UserError(f"{what} {' / '.join(map(str, key))} is given twice")
        seen.add(key)
