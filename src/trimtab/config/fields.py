"""A configuration key as a dataclass field: what its value has to be, its meaning and its unit."""

import dataclasses
import math
import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from trimtab.errors import UserError

# Of every class of the configuration. YAML reads `OMP_NUM_THREADS: 1` as a number.
CHECKED = ConfigDict(extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True)


class ConfigError(UserError):
    """A configuration file or an override is wrong; the message says where and how."""


class MistakeError(ValueError):
    """A key of the configuration that is wrong.

    `key` is relative to the class that is checked, and `problem` says what it should be.
    """

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key, self.problem = key, problem


class InvalidValueError(MistakeError):
    """A value of the right type that the key does not take."""

    def __init__(self, key: str, given: object, expected: str) -> None:
        super().__init__(key, f"{given!r} given, expected {expected}")


def about(
    meaning: str,
    *,
    default: Any = dataclasses.MISSING,
    factory: Any = dataclasses.MISSING,
    unit: str = "",
    option: str = "",
    report_only: bool = False,
    schedule_only: bool = False,
    tuning_only: bool = False,
    verify_only: bool = False,
    no_result: bool = False,
) -> Any:
    """Return the dataclass field of one YAML key, mandatory without a `default` or `factory`.

    `meaning` and `unit` go to the generated reference; the first sentence of `meaning` is also the
    help of the command line's option, whose name is `option` where it is not the key's. A
    `report_only` key describes, and changes nothing that is measured: editing it makes nothing but
    the report again. A `schedule_only` key matters where jobs are scheduled: editing it profiles
    nothing again. A `tuning_only` key says what is tuned: editing it profiles, debloats and
    schedules nothing again. A `verify_only` key says what is run when all is made: editing it
    verifies or saves starts again, and makes nothing else. A `no_result` key is one that no result
    depends on, as a limit is: editing it runs nothing again.
    """
    metadata = {
        "meaning": meaning,
        "unit": unit,
        "option": option,
        "report_only": report_only,
        "schedule_only": schedule_only,
        "tuning_only": tuning_only,
        "verify_only": verify_only,
        "no_result": no_result,
    }
    given: Any = dataclasses.field
    return given(default=default, default_factory=factory, metadata=metadata)


def satisfying(holds: Callable[[Any], object], expected: str) -> AfterValidator:
    """Return the check that refuses a value for which `holds` is false."""

    def check(value: Any) -> Any:
        if not holds(value):
            raise InvalidValueError("", value, expected)
        return value

    return AfterValidator(check)


def _refusing(kinds: Any, expected: str) -> BeforeValidator:
    def check(value: Any) -> Any:
        if isinstance(value, kinds):
            raise InvalidValueError("", value, expected)
        return value

    return BeforeValidator(check)


# More is a slip of the keyboard: a billion jobs take days, ten thousand runs of a program weeks.
_LARGEST, _MOST, _MOST_RUNS, _MOST_PHASES = 1e15, 10**9, 10_000, 1_000
Number = Annotated[float, _refusing(bool, "a number"), Field(ge=-_LARGEST, le=_LARGEST)]
Positive = Annotated[Number, Field(gt=0)]
NotNegative = Annotated[Number, Field(ge=0)]
Whole = Annotated[int, _refusing(bool | float, "a whole number"), Field(ge=-_MOST, le=_MOST)]
Count = Annotated[Whole, Field(ge=1)]
CountOrNone = Annotated[Whole, Field(ge=0)]
Runs = Annotated[Count, Field(le=_MOST_RUNS)]  # of a program or a simulation
RunsOrNone = Annotated[CountOrNone, Field(le=_MOST_RUNS)]
Phases = Annotated[Count, Field(le=_MOST_PHASES)]  # of a phase-type distribution
Parts = Annotated[CountOrNone, Field(le=1_000_000)]  # cores, nodes, tasks of a job
SomeParts = Annotated[Parts, Field(ge=1)]
Seed = Annotated[int, _refusing(bool | float, "a whole number"), Field(ge=0, lt=1 << 63)]

# As an argument or a variable of a program: they end at a NUL, and are bytes that may be no UTF-8.
_NO_ARGUMENT = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
NoNul = Annotated[
    str,
    satisfying(lambda text: not _NO_ARGUMENT.search(text), "a text that a program can be given"),
]
Text = Annotated[NoNul, satisfying(str.strip, "a text that is not empty")]


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise InvalidValueError("", pattern, f"a regular expression ({error})") from None
    return pattern


Pattern = Annotated[NoNul, AfterValidator(_compiles)]
# What can name a file or a folder and be a Snakemake wildcard.
Name = Annotated[
    str,
    satisfying(
        re.compile(r"[a-z0-9_]{1,100}").fullmatch,
        "lower-case letters, digits and underscores only, 100 at most",
    ),
]
Names = Annotated[
    list[Name], satisfying(lambda names: len(set(names)) == len(names), "every name once")
]
SomeNames = Annotated[Names, satisfying(len, "at least one name")]
ParameterName = Annotated[
    Name,
    satisfying(lambda name: name != "output", "another name: {output} is the folder of the run"),
]


def _is_scalar(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" not in value
    return value is None or (isinstance(value, int | float) and math.isfinite(value))


Scalar = Annotated[
    Any, satisfying(_is_scalar, "a text without a NUL, a finite number, true, false or null")
]
