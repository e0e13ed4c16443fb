import dataclasses
import re
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
    lines = [line for line in reference().splitlines() if line.startswith("- `")]
    assert all(re.fullmatch(r"- `\S+`( \(.+; .+\))?: \S.*\.", line) for line in lines)
    assert len(lines) == sum(
        count_keys(kind, set()) for kind in typing.get_type_hints(RootConfig).values()
    )


def count_keys(kind: Any, shown: set[Any]) -> int:
    """The lines of a class: one inside that is among `shown`, whose lines are there, has one."""
    count = 0
    hints = typing.get_type_hints(kind)
    for spec in dataclasses.fields(kind):
        count += 1
        hint = without_none(hints[spec.name])
        inside = hint if dataclasses.is_dataclass(hint) else (typing.get_args(hint) or (None,))[-1]
        if dataclasses.is_dataclass(inside) and inside not in shown:
            shown.add(inside)
            count += count_keys(inside, shown)
    return count
