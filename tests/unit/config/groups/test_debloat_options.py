"""Options of debloating that do not go together."""

from typing import Any

import pytest

from trimtab.config.fields import MistakeError
from trimtab.config.groups.debloat import Debloat
from trimtab.config.validate import checked


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"unloaded": "remove", "mode": "punch"}, "unloaded"),
        ({"unloaded": "remove", "fallback": "none"}, "unloaded"),
        ({"files": "remove", "mode": "punch"}, "files"),
        ({"share": "hardlink"}, "share"),
        ({"store": "folder"}, "store"),
        ({"fallback": "store"}, "store"),
    ],
)
def test_what_does_not_go_together_is_named(given: dict[str, Any], key: str) -> None:
    with pytest.raises(MistakeError) as error:
        checked({"name": "x", **given}, Debloat)
    assert error.value.key == key


def test_files_go_for_good_where_that_was_asked_for() -> None:
    given = {"name": "x", "files": "remove", "mode": "punch", "fallback": "none"}
    assert checked(given, Debloat).files == "remove"


@pytest.mark.parametrize("fallback", ["original", "packed"])
@pytest.mark.parametrize("mode", ["compact", "zero"])
def test_what_comes_back_may_go(mode: str, fallback: str) -> None:
    given = {"name": "x", "unloaded": "remove", "mode": mode, "fallback": fallback}
    assert checked(given, Debloat).unloaded == "remove"
