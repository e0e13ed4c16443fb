"""The published figures, kept apart from ours and each with the place it was printed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from trimtab.errors import TrimtabError

FOLDER = Path(__file__).parents[1] / "published"


@dataclass(frozen=True)
class Entry:
    """One published row: its values by column, and where they were printed.

    `place` is "Table 2" or "Section 4.6"; a value's key ends in its unit (`_mb` is 10^6 bytes).
    """

    paper: str
    place: str
    row: str
    hardware: str
    values: Mapping[str, float | str]

    def number(self, key: str) -> float:
        """Return a value that has to be a number; raises TrimtabError when it is not there."""
        value = self.values.get(key)
        if not isinstance(value, (int, float)):
            raise TrimtabError(f"{self.place} of {self.paper}, {self.row}: no number {key!r}")
        return value


@cache
def published(name: str, folder: Path = FOLDER) -> tuple[Entry, ...]:
    """Return the entries of `published/{name}.yaml` in the order of the paper.

    Raises TrimtabError, naming file and entry, for anything that is not a row with its source:
    an unknown or missing key, a value that is not a finite number or a name, a percentage above
    100 that is not an overhead, or a row given twice.
    """
    path = folder / f"{name}.yaml"
    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise TrimtabError(f"{path}: cannot be read: {error}") from None
    if not isinstance(document, list) or not document:
        raise TrimtabError(f"{path}: expected a list of published rows")
    entries = tuple(
        _entry(item, f"{path}, entry {number}") for number, item in enumerate(document, start=1)
    )
    seen = {(entry.place, entry.row) for entry in entries}
    if len(seen) != len(entries):
        raise TrimtabError(f"{path}: a row is given twice")
    return entries


def _entry(item: object, where: str) -> Entry:
    if not isinstance(item, dict) or set(item) != {"source", "hardware", "values"}:
        raise TrimtabError(f"{where}: expected the keys source, hardware and values")
    source, values = item["source"], item["values"]
    if not isinstance(source, dict) or set(source) not in (
        {"paper", "table", "row"},
        {"paper", "section", "row"},
    ):
        raise TrimtabError(f"{where}: source needs paper, row and either table or section")
    if not isinstance(values, dict) or not values:
        raise TrimtabError(f"{where}: values needs at least one key: value")
    for key, value in values.items():
        _check_value(key, value, where)
    kind = "table" if "table" in source else "section"
    return Entry(
        paper=str(source["paper"]),
        place=f"{kind.capitalize()} {source[kind]}",
        row=str(source["row"]),
        hardware=str(item["hardware"]),
        values=values,
    )


def _check_value(key: str, value: object, where: str) -> None:
    if isinstance(value, str) and value:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TrimtabError(f"{where}: {key}: expected a number or a name, found {value!r}")
    if key.endswith("_reduction_pct") and value > 100:
        raise TrimtabError(f"{where}: {key}: {value} is more than 100 %")
