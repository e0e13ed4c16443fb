"""Formula, simulation and real run of the same cell, and their differences."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq

from trimtab.evaluation.inputs.schedules import Cell, relative_pct
from trimtab.evaluation.report.key_figures import KeyFigure
from trimtab.evaluation.report.tables import Column, Row, Table, Value, shown
from trimtab.evaluation.schedules.by_class import interval
from trimtab.evaluation.schedules.section import ScheduleSection, cell_row

_QUANTITIES = {
    "response_mean_s": "mean response",
    "response_p95_s": "95th percentile of response",
    "execution_mean_s": "mean execution",
}
_ERRORS = {
    "formula_simulated_error_pct": "Formula against simulation, %",
    "formula_real_error_pct": "Formula against real, %",
    "simulated_real_error_pct": "Simulation of the same jobs against real, %",
}
_COMPARED = "compared"
_MEAN_OF_ERRORS = "all"


class Agreement(ScheduleSection):
    """The cells with several of these methods."""

    order = 760

    def make_tables(self) -> Iterator[Table]:
        """A row for each class and quantity of these cells, and the mean errors."""
        rows = [
            row
            for setting in self.schedules.settings
            for cell in setting.cells
            if cell.formula or cell.real
            for row in _rows(cell)
        ]
        yield self.compared(
            "agreement",
            "Formula, simulation and real run",
            "The same cell answered in up to three ways. Errors are relative to the second of the "
            "two, and below zero where the first is smaller; the rows of all policies are means "
            "of the errors without their sign. Within: whether the formula lies in the "
            "simulation's own 99 % confidence interval, printed under it. Bounds of an "
            "approximate mean are under it, where some are known. A real run is of one trace with "
            "few jobs. Same jobs: these alone simulated, on their arrivals, which is held against "
            "the real run; job by job: the mean of each job's error in response. Times are in "
            "seconds of the trace.",
            (
                Column("job_class", "Class"),
                Column("quantity", "Quantity"),
                Column("formula_s", "Formula, s", 3, ("formula_low_s", "formula_high_s")),
                Column("simulated_s", "Simulated, s", 3, ("simulated_low_s", "simulated_high_s")),
                Column("same_jobs_s", "Simulated, same jobs, s", 3),
                Column("real_s", "Real, s", 3),
                Column("formula_simulated_error_pct", _ERRORS["formula_simulated_error_pct"], 2),
                Column("within_confidence", "Within"),
                *(Column(key, _ERRORS[key], 1) for key in [*_ERRORS][1:]),
                Column("job_error_pct", "Job by job, %", 1),
                Column("details", "Details"),
            ),
            (*rows, *_means(rows)),
        )

    def page(self) -> Iterator[Table]:
        """Yield the table if there is anything to compare, here or in a paper."""
        yield from (table for table in self.tables if table.rows)

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the errors between methods."""
        for row in self.tables[0].rows:
            for key, label in _ERRORS.items():
                if row.get("job_class") == _MEAN_OF_ERRORS and row.get(key) is not None:
                    yield (
                        "How far apart the ways are",
                        KeyFigure(
                            f"{label.removesuffix(', %')}, {row['quantity']}",
                            f"{shown(row[key], 1)}\N{NO-BREAK SPACE}%",
                            "mean of the errors without their sign",
                        ),
                    )


def _rows(cell: Cell) -> Iterator[Row]:
    for name, simulated in cell.classes.items():
        by_formula = cell.formula.classes.get(name) if cell.formula else None
        for_real = cell.real.classes.get(name) if cell.real else None
        both = _in_both(cell.jobs, cell.real_jobs, name) if cell.real_jobs else None
        for key, quantity in _QUANTITIES.items():
            formula, real = getattr(by_formula, key, None), getattr(for_real, key, None)
            middle = getattr(simulated, key)
            ends = interval(simulated, key)
            row = cell_row(cell) | {
                "job_class": name,
                "quantity": quantity,
                "formula_s": formula,
                "simulated_s": middle,
                "real_s": real,
                "formula_simulated_error_pct": relative_pct(middle, formula),
                "formula_real_error_pct": relative_pct(real, formula),
                "details": _details(cell),
                "source": _COMPARED,
            }
            bounds = cell.formula.bounds.get(name) if cell.formula else None
            if bounds and key == "response_mean_s":
                row |= {"formula_low_s": bounds.low_s, "formula_high_s": bounds.high_s}
            if ends:
                row |= {"simulated_low_s": ends[0], "simulated_high_s": ends[1]}
                if formula is not None:
                    row["within_confidence"] = ends[0] <= formula <= ends[1]
            if both is not None and not both.empty:
                same_jobs_s = _simulated(both, key)
                row["same_jobs_s"] = same_jobs_s
                row["simulated_real_error_pct"] = relative_pct(real, same_jobs_s)
                if key == "response_mean_s":
                    row["job_error_pct"] = _job_error_pct(both)
            yield row


def _details(cell: Cell) -> str:
    said = []
    if cell.formula:
        reason = cell.formula.not_possible_because
        said.append(f"no formula: {reason}" if reason else f"formula: {cell.formula.model}")
    if cell.real:
        scaled = "" if cell.real.scale == 1 else f", times scaled by {cell.real.scale:g}"
        said.append(f"real: {cell.real.platform}, {cell.real.machine}{scaled}")
    return "; ".join(said)


def _in_both(simulated: Path, real: Path, job_class: str) -> pd.DataFrame:
    """Return the times of the class' real jobs, with the simulated ones."""
    columns = ["job", "job_class", "response_s", "execution_s"]
    ran = pq.read_table(real, columns=columns).to_pandas()
    ran = ran[ran["job_class"] == job_class]
    # The simulated trace may be far longer than the real one.
    wanted = [("job", "<=", int(ran["job"].max()))] if len(ran) else [("job", "<", 0)]
    of_it: pd.DataFrame = pq.read_table(simulated, columns=columns, filters=wanted).to_pandas()
    return of_it.merge(ran, on="job", suffixes=("_simulated", ""))


def _simulated(both: pd.DataFrame, key: str) -> float:
    if key == "response_p95_s":
        return float(both["response_s_simulated"].quantile(0.95))
    return float(both[key.replace("_mean_s", "_s_simulated")].mean())


def _job_error_pct(both: pd.DataFrame) -> float | None:
    """Return the mean absolute error over jobs in per cent; None without response times."""
    both = both[both["response_s"] > 0]
    if both.empty:
        return None
    errors = (both["response_s_simulated"] - both["response_s"]).abs() / both["response_s"]
    return float(100.0 * errors.mean())


def _means(rows: list[Row]) -> Iterator[Row]:
    """Yield, for each quantity, the mean absolute errors."""
    for quantity in _QUANTITIES.values():
        mean: dict[str, Value] = {
            "name": "all policies",
            "job_class": _MEAN_OF_ERRORS,
            "quantity": quantity,
            "details": "means of the errors without their sign",
            "source": _COMPARED,
        }
        for key in _ERRORS:
            of_it = [row.get(key) for row in rows if row["quantity"] == quantity]
            errors = [abs(float(error)) for error in of_it if error is not None]
            if errors:
                mean[key] = sum(errors) / len(errors)
        if _ERRORS.keys() & mean.keys():
            yield mean
