"""Prices of electricity, or its carbon intensities, over time: exact integrals over runs."""

import csv
import io
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab.errors import TrimtabError, UserError
from trimtab.files import read_limited

DAY_S = 86400.0
J_PER_KWH = 3.6e6
_MOST_BYTES = 1 << 26
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class EnergyCurve:
    """What a kWh costs: `values[i]` from `times_s[i]` to the next, the last to `end_s`.

    Times are since the first submission. If they cover whole days the curve repeats, also before
    its beginning. `name` stands in errors, and `remark` says what was assumed.
    """

    name: str
    times_s: Numbers
    values: Numbers
    end_s: float
    remark: str = ""

    @property
    def repeats(self) -> bool:
        """Whether the curve covers whole days."""
        days = (self.end_s - self.times_s[0]) / DAY_S
        return days > 0.5 and math.isclose(days, round(days), rel_tol=1e-9)

    def of_runs(self, start_s: Numbers, end_s: Numbers, energy_j: Numbers) -> float:
        """Return the cost of energies that are drawn evenly between two times each.

        Raises UserError for times that the curve does not cover.
        """
        if not len(start_s):
            return 0.0
        if math.isfinite(self.end_s) and not self.repeats:
            self._check_covers(float(start_s.min()), float(end_s.max()))
        took_s = end_s - start_s
        spread = took_s > 0
        mean = np.zeros_like(took_s)
        until, since = self._integral(end_s[spread]), self._integral(start_s[spread])
        mean[spread] = (until - since) / took_s[spread]
        return float(np.sum(mean * energy_j) / J_PER_KWH)

    def _integral(self, at_s: Numbers) -> Numbers:
        """Return the integral of the curve from its beginning to each time."""
        if not math.isfinite(self.end_s):
            constant: Numbers = self.values[0] * at_s
            return constant
        edges = np.append(self.times_s, self.end_s)
        sums = np.concatenate([[0.0], np.cumsum(self.values * np.diff(edges))])
        whole_s = self.end_s - edges[0]
        rounds = np.floor((at_s - edges[0]) / whole_s) if self.repeats else np.zeros_like(at_s)
        integral: Numbers = rounds * sums[-1] + np.interp(at_s - rounds * whole_s, edges, sums)
        return integral

    def _check_covers(self, start_s: float, end_s: float) -> None:
        if start_s < self.times_s[0] or end_s > self.end_s:
            raise UserError(
                f"{self.name}: covers {self.times_s[0]:,.0f} to {self.end_s:,.0f} s after the first"
                f" submission, the jobs {start_s:,.0f} to {end_s:,.0f} s; expected a curve as long"
                " as that, or of whole days, which is repeated"
            )


def read_curve(given: str, first_submission: datetime | None) -> EnergyCurve:
    """Return the curve of a CSV file, or the constant that `given` is as a number.

    The file has two columns: time (ISO 8601, UTC where it has no zone, or seconds since the first
    submission), and the value from then on; the last one lasts as long as the one before. A first
    line that is no numbers is skipped. ISO times count from `first_submission`; without it from the
    curve's first one. Raises UserError for anything else.
    """
    constant = _number(given)
    if constant is not None:
        return EnergyCurve(given, np.zeros(1), np.array([constant]), math.inf)
    rows = _rows(given)
    times: list[float] = []
    values: list[float] = []
    began = None if first_submission is None else _timestamp(first_submission)
    for line, row in rows:
        time, value = _time(row[0]), _number(row[1])
        if time is None or value is None:
            if not times and line == rows[0][0]:
                continue  # a heading
            raise UserError(f"{given}:{line}: {','.join(row)[:80]!r}; {_EXPECTED}")
        at_s, is_date = time
        if is_date and began is None:
            began = at_s
        at_s -= began or 0.0 if is_date else 0.0
        if times and at_s <= times[-1]:
            raise UserError(f"{given}:{line}: {row[0]!r}: expected a time after the line before")
        times.append(at_s)
        values.append(value)
    if len(times) < 2:
        raise UserError(f"{given}: {len(times)} rows of numbers; {_EXPECTED}, two rows at least")
    remark = ""
    if first_submission is None and began is not None:
        remark = f"{given}: its first date counts as that of the first submission"
    end_s = 2 * times[-1] - times[-2]
    return EnergyCurve(given, np.array(times), np.array(values), end_s, remark)


_EXPECTED = "expected two columns, time (ISO or seconds) and a number, or a number for a constant"


def _rows(given: str) -> list[tuple[int, list[str]]]:
    """Return the rows of two columns, with the numbers of their lines."""
    try:
        text = read_limited(Path(given), _MOST_BYTES).decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [(reader.line_num, row) for row in reader if row and not row[0].startswith("#")]
    except FileNotFoundError:
        raise UserError(f"{given}: no such file; {_EXPECTED}") from None
    except (TrimtabError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise UserError(f"{given}: {error}; {_EXPECTED}") from None
    for line, row in rows:
        if len(row) != 2:
            raise UserError(f"{given}:{line}: {len(row)} columns; {_EXPECTED}")
    return rows


def _time(text: str) -> tuple[float, bool] | None:
    """Return a time in seconds, and whether it is a date; None if it is no time."""
    seconds = _number(text)
    if seconds is not None:
        return seconds, False
    try:
        return _timestamp(datetime.fromisoformat(text.strip())), True
    except (ValueError, OverflowError):
        return None


def _timestamp(date: datetime) -> float:
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < 1e15 else None  # no infinity, no NaN
