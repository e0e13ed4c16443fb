"""Recorded traces, in every format."""

import inspect
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import get_type_hints

from trimtab.errors import TrimtabError
from trimtab.traces.formats.registry import READERS, read_format

ERRORS = TrimtabError
NAMES = sorted(READERS)
_MOST_CHUNKS = 16


def run(data: bytes, folder: Path) -> None:
    name = NAMES[(data[0] if data else 0) % len(NAMES)]
    reader = READERS[name]
    hints = get_type_hints(reader)
    keys = [key for key in inspect.signature(reader).parameters if key != "skipped"]
    tables = [key for key in keys if hints[key] in (Path, Sequence[Path])]
    # A table each, where the format has several; google_2019 knows its kinds by the ending.
    ending = ".json" if name in ("google_2019", "philly_log") else ".csv"
    parts = data[1:].split(b"\x00TABLE\x00", len(tables) - 1)
    files = {}
    for number, key in enumerate(tables):
        path = folder / f"table{number}{ending}"
        path.write_bytes(parts[number % len(parts)])
        files[key] = [str(path)]
    options = {key: hints[key](1) for key in keys if key not in tables}
    for _ in islice(read_format(name, files, options, Counter()), _MOST_CHUNKS):
        pass
