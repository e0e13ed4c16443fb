"""The typed limits of `trimtab tune`: durations and energies with their units."""

import re
from collections.abc import Callable, Mapping

from trimtab.errors import UserError
from trimtab.tuning.limits import SearchLimits

_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_J = {"J": 1.0, "kJ": 1e3, "MJ": 1e6, "Wh": 3600.0, "kWh": 3.6e6}
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]*)")


def limits_of(
    trials: int | None,
    time: str | None,
    energy: str | None,
    patience: int | None,
    on_reached: Callable[[str], None],
) -> SearchLimits:
    """Return the limits as typed; raises UserError for an amount without a unit, or of 0."""
    return SearchLimits(
        trials,
        None if time is None else amount("--time", time, _S, "30m"),
        None if energy is None else amount("--energy", energy, _J, "50kJ"),
        patience,
        on_reached,
    )


def amount(option: str, text: str, units: Mapping[str, float], example: str) -> float:
    """Return an amount in the unit of 1; raises UserError for another one than in `units`."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or found[2] not in units or not float(found[1]):
        raise UserError(
            f"{option}: {text!r} given, expected a number above 0 with one of"
            f" {', '.join(units)}, as {example}"
        )
    return float(found[1]) * units[found[2]]
