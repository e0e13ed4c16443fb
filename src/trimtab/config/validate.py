"""From plain values to the classes of the configuration, with the full key of what is wrong."""

from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from trimtab.config.fields import InvalidValueError, MistakeError
from trimtab.config.words import kind_at, unknown_key, words

Kind = TypeVar("Kind")

_RANGES = {
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number less than {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "finite_number": "a finite number",
}


def checked(given: Any, kind: type[Kind], place: str = "") -> Kind:
    """Return `given`, of plain mappings, lists and scalars, as an object of the class `kind`.

    Raises MistakeError with the full key, which begins with `place`, of the first value that is
    wrong; unknown keys come first, as a key that is missing is often one that is misspelt.
    """
    try:
        return TypeAdapter(kind).validate_python(given)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        errors.sort(key=lambda error: error["type"] != "unexpected_keyword_argument")
        mistake = _mistake(errors[0], kind)
        raise MistakeError(joined(place, mistake.key), mistake.problem) from None


def _mistake(error: ErrorDetails, kind: Any) -> MistakeError:
    """Return what pydantic says of one value in our words."""
    location = [step for step in error["loc"] if step != "[key]"]
    key, steps = full_key(location), [str(step) for step in location]
    context = error.get("ctx", {})
    if error["type"] == "unexpected_keyword_argument":
        return MistakeError(key, unknown_key(steps[-1], kind_at(kind, steps[:-1])))
    expected = words(kind_at(kind, steps))
    if error["type"] == "missing":
        return MistakeError(key, f"missing, expected {expected}")
    cause = context.get("error")
    if isinstance(cause, MistakeError):
        return MistakeError(joined(key, cause.key), cause.problem)
    if error["type"] in _RANGES:
        expected = _RANGES[error["type"]].format(**context)
    return InvalidValueError(key, error["input"], expected)


def full_key(location: list[str | int]) -> str:
    """Return the key at `location`: `a.b`, or `a[0]` in a list."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)
    return "".join(parts).removeprefix(".")


def joined(place: str, key: str) -> str:
    """Return the full key of `key` inside `place`; either may be empty."""
    return f"{place}.{key}" if place and key and key[0] != "[" else place + key
