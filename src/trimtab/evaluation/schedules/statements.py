"""Published statements about schedules, and the rule by which ours agree with them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from trimtab.errors import TrimtabError
from trimtab.evaluation.report.published import PublishedRow, published
from trimtab.evaluation.report.tables import shown

AGREES, DIFFERS, OPEN = "agrees", "differs", "open"
RULE = (
    "Ours agrees within 5 points (of a time: 5 %) of the published value or range. A direction "
    "without a number agrees if our difference has it, and is open while its 99 % confidence "
    "interval spans zero. Also open: what has no stable baseline."
)
DIFFERENCE = "_difference_pct"
_TOLERANCE = 5.0  # points, or per cent of a published time
_DIRECTIONS = {"less": (-math.inf, 0.0), "more": (0.0, math.inf)}


@dataclass(frozen=True)
class Statement:
    """A published statement about a quantity under some policies on some traces.

    The quantity lies between `low` and `high`; `direction` ("less", "more") if only that is said.
    `against` has, for each policy, the one that it is compared with; None: the baseline. `reason`
    says what is assumed, or why ours cannot agree.
    """

    published: PublishedRow
    traces: tuple[str, ...]
    against: Mapping[str, str | None]
    job_class: str | None
    quantity: str
    low: float
    high: float
    direction: str
    reason: str

    @property
    def is_difference(self) -> bool:
        """Whether the quantity is a difference between two policies, in per cent."""
        return self.quantity.endswith(DIFFERENCE)

    @property
    def in_words(self) -> str:
        """The published direction, value or range."""
        if self.direction:
            return self.direction
        if self.low == self.high:
            return shown(self.low, 1)
        if math.isinf(self.low):
            return f"at most {shown(self.high, 1)}"
        if math.isinf(self.high):
            return f"at least {shown(self.low, 1)}"
        return f"{shown(self.low, 1)} to {shown(self.high, 1)}"

    def verdict(self, ours: float | None, interval: tuple[float, float] | None) -> str:
        """Return the verdict on our figure, with its 99 % confidence interval, by `RULE`."""
        if ours is None:
            return OPEN
        if self.direction:
            if interval is None or interval[0] <= 0 <= interval[1]:
                return OPEN
            return AGREES if self.low <= ours <= self.high else DIFFERS
        scale = 1.0 if self.quantity.endswith("_pct") else self.high / 100
        off = max(self.low - ours, ours - self.high)
        return AGREES if off <= _TOLERANCE * scale else DIFFERS


def statements() -> tuple[Statement, ...]:
    """Return all published statements; raises TrimtabError for an invalid one."""
    return tuple(map(parse_statement, published("schedule_verdicts")))


def parse_statement(row: PublishedRow) -> Statement:
    """Return the statement of a published row; raises TrimtabError for an invalid one.

    Its values are `traces`, `policies` and `against` (names separated by spaces), `job_class`,
    `quantity`, `reason`, and one of `value`, `direction`, or `low`, `high` or both.
    """
    words = {key: str(value) for key, value in row.values.items()}
    policies, direction = words.get("policies", "").split(), words.get("direction", "")
    against: list[str | None] = [*words.get("against", "").split()] or [None] * len(policies)
    given = {"value", "direction", "low", "high"} & words.keys()
    if len(against) != len(policies) or not (len(given) == 1 or given == {"low", "high"}):
        raise _invalid(row)
    if direction not in ("", *_DIRECTIONS) or not policies or "quantity" not in words:
        raise _invalid(row)
    low, high = _DIRECTIONS.get(direction, (-math.inf, math.inf))
    if "value" in words:
        low = high = row.number("value")
    low = row.number("low") if "low" in words else low
    high = row.number("high") if "high" in words else high
    return Statement(
        row,
        tuple(words.get("traces", "").split()),
        dict(zip(policies, against, strict=True)),
        words.get("job_class"),
        words["quantity"],
        low,
        high,
        direction,
        words.get("reason", ""),
    )


def _invalid(row: PublishedRow) -> TrimtabError:
    return TrimtabError(
        f"{row.place} of {row.paper}, {row.row}: expected quantity, policies, as many in against "
        "or none, and value, direction (less, more), low or high"
    )
