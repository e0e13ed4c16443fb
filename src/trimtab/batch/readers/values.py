"""Columns of text as numbers: times, durations, sizes of memory.

Each function takes a column's text and returns float64, NaN where the text is empty or says that
the value is unknown. It raises UnreadableError for other text that it cannot read.
"""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Values = NDArray[np.float64]
UNKNOWN = pa.array(
    ["", "-", "?", "unknown", "none", "null", "nil", "nan", "na", "n/a", "nat", "invalid", "inf",
     "unlimited", "infinite", "partition_limit"]
)  # fmt: skip
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
_CLOCK = (
    r"^(?:(?P<days>[0-9]{1,6})-)?(?P<first>[0-9]{1,9})"
    r"(?::(?P<second>[0-9]{1,4}(?:\.[0-9]+)?))?(?::(?P<third>[0-9]{1,2}(?:\.[0-9]+)?))?$"
)
_MEMORY = re.compile(r"([0-9]{1,20}\.?[0-9]{0,20}) ?(?:([kmgtp])i?b?|b)?", re.IGNORECASE)
_DAY_S, _HOUR_S, _MINUTE_S = 86400.0, 3600.0, 60.0
# Larger numbers count milliseconds, microseconds or nanoseconds since 1970.
_LATEST_S = 1e11


class UnreadableError(ValueError):
    """A row of a column holds a text of another kind; `row` counts from 0."""

    def __init__(self, row: int, text: str, expected: str) -> None:
        super().__init__(f"{text[:60]!r}, expected {expected}")
        self.row = row


def numbers(text: pa.Array) -> Values:
    """Return numbers such as `12`, `0.5` and `1e3`."""
    return parsed(text, _as_numbers, "a number")


def durations_s(text: pa.Array, unit_s: float = 1.0) -> Values:
    """Return durations in s: numbers of `unit_s`, or Slurm's `[D-]HH:MM:SS`, `MM:SS`, `D-HH`."""
    return parsed(
        text,
        lambda texts: _first(texts, lambda each: _as_numbers(each) * unit_s, _as_clock),
        "seconds, HH:MM:SS or D-HH:MM:SS",
    )


def times_s(text: pa.Array, unit_s: float = 1.0) -> Values:
    """Return times in s: numbers of `unit_s`, ISO 8601 (UTC where it names no zone), or clocks."""
    return parsed(
        text,
        lambda texts: _first(texts, lambda each: _as_numbers(each) * unit_s, _as_iso, _as_clock),
        "seconds, ISO 8601 such as 2026-01-31T12:00:00, or HH:MM:SS",
    )


def counts(text: pa.Array) -> Values:
    """Return counts, with a binary unit or without: Slurm writes 1024 nodes as `1K`."""
    return parsed(
        text,
        lambda texts: np.array([memory_of(each, 1.0) for each in texts.to_pylist()]),
        "a number",
    )


def memory_bytes(text: pa.Array, unit_bytes: float = 1.0) -> Values:
    """Return sizes in bytes: numbers of `unit_bytes`, or with a binary unit: 4000M, 16G, 16GiB."""
    return parsed(
        text,
        lambda texts: np.array([memory_of(each, unit_bytes) for each in texts.to_pylist()]),
        "bytes, or a size such as 16G",
    )


def memory_of(text: str, unit_bytes: float) -> float:
    """Return a size of memory in bytes; NaN if it is none."""
    match = _MEMORY.fullmatch(text)
    if match is None:
        return np.nan
    if match[2]:
        unit_bytes = 1024.0 ** ("kmgtp".index(match[2].lower()) + 1)
    return float(match[1]) * unit_bytes


def in_seconds(times: Values) -> Values:
    """Return times in s from s, ms, us or ns since 1970: the largest time shows which."""
    largest = float(np.nanmax(times, initial=0.0))
    while np.isfinite(largest) and largest > _LATEST_S:
        times, largest = times / 1e3, largest / 1e3
    return times


def parsed(text: pa.Array, parse: Callable[[pa.Array], Values], expected: str) -> Values:
    """Return what `parse` makes of each distinct known text; NaN means that it cannot read it."""
    encoded = pc.utf8_trim_whitespace(text).dictionary_encode()
    texts = encoded.dictionary
    known = ~pc.is_in(pc.utf8_lower(texts), UNKNOWN).to_numpy(zero_copy_only=False)
    values = np.full(len(texts) + 1, np.nan)  # the last is for nulls
    values[:-1][known] = parse(texts.filter(pa.array(known)))
    indices = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    unreadable = np.append(known & np.isnan(values[:-1]), False)
    if unreadable.any():
        row = int(np.flatnonzero(unreadable[indices])[0])
        raise UnreadableError(row, texts[int(indices[row])].as_py(), expected)
    return np.asarray(values[indices])


def _first(texts: pa.Array, *parsers: Callable[[pa.Array], Values]) -> Values:
    """Return what the first of the parsers makes of each text that can read it."""
    values = np.full(len(texts), np.nan)
    for parse in parsers:
        left = np.isnan(values)
        if left.any():
            values[left] = parse(texts.filter(pa.array(left)))
    return values


def _as_numbers(texts: pa.Array) -> Values:
    values = np.full(len(texts), np.nan)
    is_number = pc.match_substring_regex(texts, _NUMBER).to_numpy(zero_copy_only=False)
    values[is_number] = pc.cast(texts.filter(pa.array(is_number)), pa.float64())
    return values


def _as_clock(texts: pa.Array) -> Values:
    groups = pc.extract_regex(texts, _CLOCK)
    days, first, second, third = (
        _as_numbers(pc.struct_field(groups, name).fill_null(""))
        for name in ("days", "first", "second", "third")
    )
    rest = np.nan_to_num(second), np.nan_to_num(third)
    with_days = days * _DAY_S + first * _HOUR_S + rest[0] * _MINUTE_S + rest[1]
    three = first * _HOUR_S + second * _MINUTE_S + third
    two = first * _MINUTE_S + second
    return np.where(~np.isnan(days), with_days, np.where(np.isnan(third), two, three))


def _as_iso(texts: pa.Array) -> Values:
    try:
        times = pc.cast(texts, pa.timestamp("us"))
        return np.asarray(times.cast(pa.int64()).to_numpy(zero_copy_only=False) / 1e6)
    except pa.ArrowInvalid:
        texts = pc.replace_substring_regex(texts, " ?UTC$", "Z")
        # Pandas also takes words, such as `now`.
        dates = texts.to_pandas().where(pc.match_substring_regex(texts, "^[0-9]{4}").to_pandas())
        found = pd.to_datetime(dates, format="ISO8601", utc=True, errors="coerce")
        micros = found.dt.tz_localize(None).to_numpy("datetime64[us]")
        return np.where(np.isnat(micros), np.nan, micros.astype(np.int64) / 1e6)
