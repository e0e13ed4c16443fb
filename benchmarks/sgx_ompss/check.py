"""Errors of the model against measured run times, and against published gains by more workers."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from sgx_ompss.applications import APPLICATIONS
from sgx_ompss.fit import FittedConstants, fit
from sgx_ompss.measured import RUNS


@dataclass(frozen=True)
class Gain:
    """The gain of an application in enclaves by more workers, as in section 8.3.4.

    `published_pct` is the difference from one worker's run time; below 0 is less.
    """

    application: str
    workers: int
    published_pct: float


# The section gives no more digits, nor the protected variant.
PUBLISHED_GAINS = (
    Gain("cholesky", 4, -64),
    Gain("matmul", 2, -43),
    Gain("matmul", 4, -68),
    Gain("dot_product", 2, -28),
    Gain("stream_barr", 8, -77),
)


def relative_errors(model: FittedConstants, table: pd.DataFrame) -> "pd.Series[float]":
    """Return |modelled - measured| / measured of every run, in the order of the rows."""
    measured_s = table[list(RUNS)].to_numpy(dtype=float)
    errors = np.abs(model.run_times_s(table)[:, None] / measured_s - 1)
    return pd.Series(errors.ravel(), index=table.index.repeat(len(RUNS)))


def left_out_errors(measured: pd.DataFrame) -> dict[str, "pd.Series[float]"]:
    """Return, by application, the errors of its protected runs when it is left out of the fit."""
    found = {}
    for name in APPLICATIONS:
        of_it = (measured["application"] == name) & (measured["variant"] != "ompss")
        found[name] = relative_errors(fit(measured, left_out=name), measured[of_it])
    return found


def worker_gains_pct(model: FittedConstants, measured: pd.DataFrame) -> pd.DataFrame:
    """Return the change by more workers, in percent of one worker's time; below 0 is less.

    A row is a protected variant of an application on 2, 4 or 8 workers; the columns are
    application, variant, workers, modelled_pct and measured_pct (of medians of the runs).
    """
    swept = measured[(measured["swept"] == "threads") & (measured["variant"] != "ompss")]
    table = swept[["application", "variant", "workers"]].reset_index(drop=True)
    table["modelled_s"] = model.run_times_s(swept)
    table["measured_s"] = swept[list(RUNS)].median(axis=1).to_numpy()
    alone = table[table["workers"] == 1].drop(columns="workers")
    joined = table[table["workers"] > 1].merge(
        alone, on=["application", "variant"], suffixes=("", "_alone")
    )
    for kind in ("modelled", "measured"):
        joined[f"{kind}_pct"] = 100 * (joined[f"{kind}_s"] / joined[f"{kind}_s_alone"] - 1)
    return joined[["application", "variant", "workers", "modelled_pct", "measured_pct"]]
