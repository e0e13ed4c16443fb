"""Reads and checks the run times measured by the authors of SGX-OmpSs."""

from pathlib import Path

import numpy as np
import pandas as pd

from sgx_ompss.applications import APPLICATIONS
from trimtab.errors import TrimtabError

PUBLISHED = (
    Path(__file__).parents[2]
    / "src/trimtab/evaluation/published/heterogeneity_thesis/sgx_ompss_run_times.csv"
)
VARIANTS = ("ompss", "sgxo", "esgxo")
RUNS = tuple(f"run_{number}_s" for number in range(1, 11))
_TEXTS = {
    "application": tuple(APPLICATIONS),
    "variant": VARIANTS,
    "swept": ("size", "block", "threads", "scheduler"),
    "policy": ("bf", "wf"),
}
_COUNTS = ("size", "block", "workers")
_MOST = 10**9


def read_measured(path: Path = PUBLISHED) -> pd.DataFrame:
    """Return a row for each set-up: its parameters, and its ten run times in seconds.

    Lines that begin with `#` are skipped. Raises TrimtabError with the file, the line of data and
    the column for a value that is missing, of the wrong type or out of range.
    """
    try:
        table = pd.read_csv(path, comment="#", dtype=str, keep_default_na=False)
    except (ValueError, OSError) as error:
        raise TrimtabError(f"{path}: not a table of run times: {error}") from None
    expected = [*_TEXTS, *_COUNTS, *RUNS]
    if sorted(table.columns) != sorted(expected):
        wrong = sorted(set(expected) ^ set(table.columns))
        raise TrimtabError(f"{path}: columns {wrong}: missing or not known; expected {expected}")
    if table.empty:
        raise TrimtabError(f"{path}: no line of data, expected one for each set-up")
    for column, known in _TEXTS.items():
        _refuse(path, table[column], ~table[column].isin(known), f"one of {', '.join(known)}")
    for column in _COUNTS:
        number = pd.to_numeric(table[column], errors="coerce")
        good = number.between(1, _MOST) & (number % 1 == 0)
        _refuse(path, table[column], ~good, f"a whole number from 1 to {_MOST}")
        table[column] = number.astype(int)
    for column in RUNS:
        number = pd.to_numeric(table[column], errors="coerce")
        _refuse(path, table[column], ~(np.isfinite(number) & (number > 0)), "seconds above 0")
        table[column] = number.astype(float)
    _refuse(path, table["block"], _does_not_divide(table), "a divisor of the size")
    return table


def _does_not_divide(table: pd.DataFrame) -> "pd.Series[bool]":
    """Where the size is no whole number of blocks; some applications count blocks differently."""
    of_size = table["application"].isin(["cholesky", "dot_product"])
    return of_size & (table["size"] % table["block"] != 0)


def _refuse(path: Path, given: "pd.Series[str]", wrong: "pd.Series[bool]", expected: str) -> None:
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        raise TrimtabError(
            f"{path}: data line {row + 1}: {given.name}: {str(given.iloc[row])!r} given, "
            f"expected {expected}"
        )
