import dataclasses
import typing
from typing import Any

from config_files import PROJECT

from trimtab.config.reference import reference
from trimtab.config.root import RootConfig
from trimtab.config.validate import without_none


def test_the_committed_page_is_up_to_date() -> None:
    page = PROJECT / "docs" / "reference" / "configuration.md"
    assert page.read_text() == reference(), "run: make docs"


def test_every_key_is_there_with_its_meaning() -> None:
    rows = [line.split(" | ") for line in reference().splitlines() if line.startswith("| `")]
    assert all(len(row) == 5 and row[4].strip(" |") for row in rows)
    assert len(rows) == sum(
        count_keys(kind, set()) for kind in typing.get_type_hints(RootConfig).values()
    )


def count_keys(kind: Any, items: set[Any]) -> int:
    """The rows of a class: an item of a class in `items`, which has its rows already, is one."""
    count = 0
    hints = typing.get_type_hints(kind)
    for spec in dataclasses.fields(kind):
        hint = without_none(hints[spec.name])
        item = (typing.get_args(hint) or (None,))[-1]
        if dataclasses.is_dataclass(hint):
            count += count_keys(hint, items)
        elif dataclasses.is_dataclass(item) and item not in items:
            items.add(item)
            count += count_keys(item, items)
        else:
            count += 1
    return count
