"""One parameter that is tuned: its values, its default, and the condition for it to be there."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import (
    CHECKED,
    InvalidValueError,
    MistakeError,
    Number,
    Scalar,
    about,
    satisfying,
)

_SOME = satisfying(len, "at least one value")


@dataclass(config=CHECKED)
class Parameter:
    """A parameter that is tuned: its range, `low` to `high`, or its `choices`."""

    default: Scalar = about("Value if not tuned, as in the runs to compare with.")
    low: Number | None = about("Lowest value.", default=None)
    high: Number | None = about("Highest value.", default=None)
    log: bool = about(
        "Whether the range is searched by ratios.",
        default=False,
    )
    whole: bool = about("Whether only whole numbers are taken.", default=False)
    choices: Annotated[list[Scalar], _SOME] | None = about(
        "Values, in place of a range.", default=None
    )
    when: dict[str, Annotated[list[Scalar], _SOME]] = about(
        "Other parameters' values, as `{model.layers: [2, 3]}`, without which this one is absent. "
        "They have choices or are whole.",
        factory=dict,
    )

    @model_validator(mode="after")
    def _is_one_range(self) -> Self:
        if self.choices is None:
            self._check_range()
        else:
            for key in ("low", "high", "log", "whole"):
                if getattr(self, key) not in (None, False):
                    raise MistakeError(key, "given beside `choices`, expected one of both")
            # Compared as Python does, where 1 is True: so does Optuna, which suggests them.
            twice = [value for value in self.choices if self.choices.count(value) > 1]
            if twice:
                raise InvalidValueError("choices", twice[0], "every value once")
        if not self.takes(self.default):
            raise InvalidValueError("default", self.default, self.format_values)
        return self

    def _check_range(self) -> None:
        for key in ("low", "high"):
            end = getattr(self, key)
            if end is None:
                raise MistakeError(key, "missing, expected a range, `low` and `high`, or `choices`")
            if self.whole and end != int(end):
                raise InvalidValueError(key, end, "a whole number, as `whole` is true")
        assert self.low is not None and self.high is not None
        if self.high < self.low:
            raise InvalidValueError("high", self.high, f"a number of at least {self.low:g}")
        least = 1 if self.whole else 0
        if self.log and (self.low < least or self.low == 0):
            expected = "a number of at least 1" if self.whole else "a number above 0"
            raise InvalidValueError("low", self.low, f"{expected}, as `log` is true")

    @property
    def is_countable(self) -> bool:
        """Whether its values can be listed."""
        return self.choices is not None or self.whole

    @property
    def format_values(self) -> str:
        """What it takes, as a person would say it."""
        if self.choices is not None:
            return f"one of {', '.join(map(repr, self.choices))}"
        kind = "a whole number" if self.whole else "a number"
        return f"{kind} from {self.low:g} to {self.high:g}"

    def takes(self, value: Any) -> bool:
        """Whether it may have this value."""
        if self.choices is not None:
            return any(same(value, choice) for choice in self.choices)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        assert self.low is not None and self.high is not None
        return self.low <= value <= self.high and (isinstance(value, int) or not self.whole)

    def is_beside(self, configuration: Mapping[str, Any]) -> bool:
        """Whether it is there beside the values, by full name, of what its condition names."""
        return all(
            other in configuration and any(same(configuration[other], value) for value in values)
            for other, values in self.when.items()
        )


def same(one: Any, other: Any) -> bool:
    """Whether two scalars are the same value: 1 and 1.0 are, 1 and true are not."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
