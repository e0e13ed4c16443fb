"""The numbers of an experiment that are compared from one version to the next."""

from collections.abc import Iterable, Mapping
from typing import Any

from trimtab.evaluation.report.tables import Row, Table, is_published


def by_row(table: Table, *keys: str) -> dict[str, dict[str, float]]:
    """Return the numbers of our rows, each under the texts of its `keys` joined by "/"."""
    return {
        "/".join(str(row[key]) for key in keys): numbers(row)
        for row in table.rows
        if not is_published(row)
    }


def numbers(row: Row) -> dict[str, float]:
    """Return the numbers of a row; unknown ones are left out."""
    return {
        key: value
        for key, value in row.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


def merged(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return nested mappings as one: what several of them hold under one key is merged too."""
    whole: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            is_nested = isinstance(value, Mapping)
            whole[key] = merged([whole.get(key, {}), value]) if is_nested else value
    return whole
