"""A configuration key as a dataclass field: its meaning, its unit, its range."""

import math
import re
from collections.abc import Iterable
from typing import Any

NAME = re.compile(r"[a-z0-9_]+")


class InvalidValueError(ValueError):
    """A value of the right type that the key does not take.

    `key` is relative to the dataclass whose check failed.
    """

    def __init__(self, key: str, given: object, expected: str) -> None:
        super().__init__(f"{key}: {given!r} given, expected {expected}")
        self.key, self.given, self.expected = key, given, expected


def about(
    meaning: str, *, unit: str = "", report_only: bool = False, schedule_only: bool = False
) -> dict[str, Any]:
    """Return the metadata of a dataclass field for one YAML key.

    `meaning` and `unit` go to the generated reference. A `report_only` key describes, and changes
    nothing that is measured: editing it makes nothing but the report again. A `schedule_only` key
    matters where jobs are scheduled: editing it profiles nothing again.
    """
    return {
        "meaning": meaning,
        "unit": unit,
        "report_only": report_only,
        "schedule_only": schedule_only,
    }


def check_one_of(key: str, given: str, allowed: Iterable[str]) -> None:
    """Raise InvalidValueError unless `given` is among `allowed`."""
    allowed = list(allowed)
    if given not in allowed:
        raise InvalidValueError(key, given, f"one of {', '.join(allowed)}")


def check_number(
    key: str, given: float, *, above: float | None = None, minimum: float | None = None
) -> None:
    """Raise InvalidValueError unless `given` is finite, > `above` and >= `minimum`."""
    if not math.isfinite(given):
        raise InvalidValueError(key, given, "a finite number")
    if above is not None and not given > above:
        raise InvalidValueError(key, given, f"a number above {above:g}")
    if minimum is not None and not given >= minimum:
        raise InvalidValueError(key, given, f"a number of at least {minimum:g}")


def check_name(key: str, given: str) -> None:
    """Raise InvalidValueError unless `given` can name a folder and a Snakemake wildcard."""
    if not NAME.fullmatch(given):
        raise InvalidValueError(key, given, "lower-case letters, digits and underscores only")


def check_not_blank(key: str, given: str) -> None:
    """Raise InvalidValueError when `given` is empty or white space."""
    if not given.strip():
        raise InvalidValueError(key, given, "a text that is not empty")
