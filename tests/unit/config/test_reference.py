import dataclasses
import typing
from typing import Any

from config_files import PROJECT

from trimtab.config.reference import reference
from trimtab.config.root import Root


def test_the_committed_page_is_up_to_date() -> None:
    page = PROJECT / "docs" / "reference" / "configuration.md"
    assert page.read_text() == reference(), "run: make docs"


def test_every_key_is_there_with_its_meaning() -> None:
    rows = [line.split(" | ") for line in reference().splitlines() if line.startswith("| `")]
    assert all(len(row) == 5 and row[4].strip(" |") for row in rows)
    assert len(rows) == count_keys(Root)


def count_keys(kind: Any) -> int:
    count = 0
    for hint in typing.get_type_hints(kind).values():
        inside = hint if dataclasses.is_dataclass(hint) else (typing.get_args(hint) or (None,))[-1]
        count += count_keys(inside) if dataclasses.is_dataclass(inside) else 1
    return count
