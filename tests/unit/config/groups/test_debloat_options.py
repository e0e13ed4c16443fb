"""Options of debloating that do not go together."""

from typing import Any

import pytest
from pydantic import ValidationError

from trimtab.config.fields import MistakeError
from trimtab.config.groups.debloat import Debloat, Remove
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
def test_old_keys_are_read(old: dict[str, Any], new: str) -> None:
    for given in (old, {"remove": new, **old}):  # the same said twice
        found = checked({"name": "x", **given}, Debloat)
        assert (found.remove, found.files, found.unloaded) == (new, None, None)


@pytest.mark.parametrize(
    ("remove", "old"),
    [
        ("code", {"files": "remove"}),
        ("code", {"unloaded": "remove"}),
        ("files", {"files": "keep"}),
        ("files", {"unloaded": "remove"}),
        ("libraries", {"files": "remove"}),
    ],
)
def test_an_old_key_that_contradicts_the_new_one_is_refused(
    remove: str, old: dict[str, Any]
) -> None:
    """It won without a word."""
    key = next(iter(old))
    with pytest.raises(MistakeError, match=f"^{key}.*remove: {remove}; delete `{key}`"):
        checked({"name": "x", "remove": remove, **old}, Debloat)
    with pytest.raises(ValidationError, match=f"delete `{key}`"):
        Debloat(name="x", remove=Remove(remove), **old)
