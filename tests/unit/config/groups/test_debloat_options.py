"""Options of debloating that do not go together."""

from typing import Any

import pytest

from trimtab.config.fields import MistakeError
from trimtab.config.groups.debloat import Debloat
from trimtab.config.validate import checked


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"remove": "libraries", "mode": "punch"}, "remove"),
        ({"remove": "libraries", "fallback": "none"}, "remove"),
        ({"mode": "punch"}, "remove"),
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
    given = {"name": "x", "mode": "punch", "fallback": "none"}
    assert checked(given, Debloat).remove == "files"


@pytest.mark.parametrize("fallback", ["original", "packed"])
@pytest.mark.parametrize("mode", ["compact", "zero"])
def test_what_comes_back_may_go(mode: str, fallback: str) -> None:
    given = {"name": "x", "remove": "libraries", "mode": mode, "fallback": fallback}
    assert checked(given, Debloat).removes_unloaded


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"files": "keep"}, "code"),
        ({"unloaded": "keep"}, "code"),
        ({"files": "keep", "unloaded": "remove"}, "libraries"),
        ({"files": "remove", "unloaded": "keep"}, "files"),
    ],
)
def test_old_keys_are_read_with_a_word(old: dict[str, Any], new: str) -> None:
    with pytest.warns(FutureWarning, match=f"remove: {new}"):
        found = checked({"name": "x", **old}, Debloat)
    assert (found.remove, found.files, found.unloaded) == (new, None, None)


@pytest.mark.parametrize("old", [{"files": "remove"}, {"unloaded": "remove"}])
def test_an_old_key_that_contradicts_the_new_one_is_refused(old: dict[str, Any]) -> None:
    """It won without a word."""
    with pytest.raises(MistakeError, match=f"{next(iter(old))}.*remove: code; delete the old key"):
        checked({"name": "x", "mode": "punch", "remove": "code", **old}, Debloat)
