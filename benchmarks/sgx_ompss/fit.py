"""The model's constants, fitted to measured run times."""

from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd
from scipy.optimize import least_squares
from threadpoolctl import threadpool_limits

from sgx_ompss.applications import APPLICATIONS
from sgx_ompss.measured import RUNS
from sgx_ompss.run_time import (
    Array,
    MachineConstants,
    Rates,
    SetUps,
    run_times_s,
    set_ups_of,
)

# The start of the search: orders of magnitude for such machines.
_FIRST_MACHINE = MachineConstants(5e-6, 2e-6, 2e-7, 5e-6, 2e-9, 5e-10, 2e-11)
_FIRST_OPERATION_S, _FIRST_SERIAL_S, _FIRST_SHARED_S = 1e-9, 5e-8, 1e-9
_LEAST_S, _MOST_S = 1e-13, 1e-3
_SOFT = 0.1  # larger errors of the logarithm, beyond about 10 %, count less than squared


@dataclass(frozen=True)
class FittedConstants:
    """The fitted constants: of the machine, and of each application by name."""

    machine: MachineConstants
    rates: dict[str, Rates]

    def run_times_s(self, table: pd.DataFrame) -> Array:
        """Return the modelled run time of each row's set-up, in seconds."""
        return run_times_s(set_ups_of(table), self.machine, self.rates)

    def as_dict(self) -> dict[str, object]:
        """Return the constants for a JSON document."""
        rates = {name: asdict(rates) for name, rates in self.rates.items()}
        return {"machine": asdict(self.machine), "applications": rates}


def fit(measured: pd.DataFrame, left_out: str | None = None) -> FittedConstants:
    """Return the model fitted to the rows of `measured`, from `read_measured`.

    For the application `left_out`, only unprotected rows are used: they give its rates outside
    enclaves. The cost of protection is then learnt from the others, and its cost of shared cache
    lines is unknown, 0. Every run counts by the logarithm of modelled over measured, outliers less
    (soft L1 loss). The search is over the constants' logarithms.
    """
    used = measured[(measured["application"] != left_out) | (measured["variant"] == "ompss")]
    set_ups = set_ups_of(used)
    logarithms = np.log(used[list(RUNS)].to_numpy(dtype=float))
    first = np.log(_first_constants())
    shares = left_out != "dot_product"

    def errors(constants: Array) -> Array:
        model = _model(np.exp(constants), shares)
        return np.ravel(np.log(_times(set_ups, model))[:, None] - logarithms)

    bounds = (np.log(_LEAST_S), np.log(_MOST_S))
    with threadpool_limits(1):  # with a small matrix, several threads take twenty times as long
        found = least_squares(errors, first, bounds=bounds, loss="soft_l1", f_scale=_SOFT)
    return _model(np.exp(found.x), shares)


def _times(set_ups: SetUps, model: FittedConstants) -> Array:
    return run_times_s(set_ups, model.machine, model.rates)


def _first_constants() -> Array:
    operations = [_FIRST_OPERATION_S] * len(APPLICATIONS)
    machine = list(asdict(_FIRST_MACHINE).values())
    return np.array([*machine, *operations, _FIRST_SERIAL_S, _FIRST_SHARED_S])


def _model(constants: Array, shares: bool) -> FittedConstants:
    """Return the model with constants in the order of `_first_constants`."""
    values = [float(value) for value in constants]
    machine, values = (
        values[: len(fields(MachineConstants))],
        values[len(fields(MachineConstants)) :],
    )
    *operations, serial_s, shared_s = values
    rates = {
        name: Rates(
            operation_s,
            serial_operation_s=serial_s if name == "cholesky" else 0.0,
            shared_write_s=shared_s if shares and name == "dot_product" else 0.0,
        )
        for name, operation_s in zip(APPLICATIONS, operations, strict=True)
    }
    return FittedConstants(MachineConstants(*machine), rates)
