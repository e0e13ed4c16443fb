"""The cells that the schedule stage wrote, read, and checked against each other."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from trimtab.errors import UserError
from trimtab.evaluation.inputs.files import read_rows, refuse_twice
from trimtab.evaluation.inputs.schedules import Cell
from trimtab.records.formula import FormulaResponse
from trimtab.records.real_run import RealRun
from trimtab.records.summary import Summary
from trimtab.records.tables import LOAD, NODES, SCHEDULED, STAYS, check_columns, read_table


def read_cells(folders: Iterable[Path]) -> tuple[Cell, ...]:
    """Read the folders of cells, one for each cluster, trace and policy.

    Raises UserError when a file is missing, a cell is given twice or a trace has two baselines, and
    TrimtabError when a file does not hold what the schedule stage writes.
    """
    cells = [_cell(folder) for folder in folders]
    refuse_twice("schedule", [(cell.cluster, cell.trace, cell.policy) for cell in cells])
    baselines = Counter((cell.cluster, cell.trace) for cell in cells if cell.baseline)
    for (cluster, trace), count in baselines.items():
        if count > 1:
            raise UserError(f"trace {trace} on {cluster}: {count} policies are the baseline")
    labels = Counter((cell.cluster, cell.trace, cell.label) for cell in cells)
    return tuple(
        replace(cell, label=f"{cell.label} ({cell.policy})")
        if labels[cell.cluster, cell.trace, cell.label] > 1
        else cell
        for cell in cells
    )


def _cell(folder: Path) -> Cell:
    summary = Summary.read(folder / "summary.json")
    formula, real = folder / "formula.json", folder / "real.json"
    return Cell(
        label=summary.policy_label,
        summary=summary,
        jobs=check_columns(folder / "jobs.parquet", SCHEDULED),
        stays=check_columns(folder / "stays.parquet", STAYS),
        nodes=read_rows(folder / "nodes.parquet", NODES),
        load=read_table(folder / "load.parquet", LOAD),
        formula=FormulaResponse.read(formula) if formula.is_file() else None,
        real=RealRun.read(real) if real.is_file() else None,
        real_jobs=check_columns(folder / "real.parquet", SCHEDULED) if real.is_file() else None,
    )
