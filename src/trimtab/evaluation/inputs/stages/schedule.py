"""What became of the jobs of each trace under each policy."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from trimtab.errors import UserError
from trimtab.evaluation.inputs.checks import folders_of, read_rows, refuse_twice
from trimtab.evaluation.inputs.measurements import EvaluationInputs
from trimtab.evaluation.inputs.schedules import Cell, Schedules
from trimtab.records import tables
from trimtab.records.deflator_search import DeflatorSearch
from trimtab.records.parquet.files import check_table, read_table
from trimtab.records.summary import FormulaResponse, RealRun, Summary
from trimtab.records.trace_facts import TraceFacts


def read(files: Sequence[Path], inputs: EvaluationInputs) -> Schedules:
    """Return the cells, and what was found about their traces and nodes."""
    machines = inputs.options.get("hardware", {})
    return Schedules(
        read_cells(folders_of(files, "summary.json")),
        tuple(DeflatorSearch.read(path) for path in files if path.name.startswith("deflator_")),
        tuple(TraceFacts.read(path) for path in files if path.name == "trace.json"),
        {name: machine.probes for name, machine in machines.items()},
    )


def read_cells(folders: Iterable[Path]) -> tuple[Cell, ...]:
    """Read the folders of cells, one for each cluster, trace and policy.

    Raises UserError when a file is missing, a cell is given twice or a trace has two baselines, and
    TrimtabError when a file does not hold what the schedule stage writes.
    """
    cells = [_cell(folder) for folder in folders]
    refuse_twice("schedule", [(*cell.setting, cell.summary.policy) for cell in cells])
    baselines = Counter(cell.setting for cell in cells if cell.summary.baseline)
    for (cluster, trace), count in baselines.items():
        if count > 1:
            raise UserError(f"trace {trace} on {cluster}: {count} policies are the baseline")
    labels = Counter((cell.setting, cell.label) for cell in cells)
    return tuple(
        replace(cell, label=f"{cell.label} ({cell.summary.policy})")
        if labels[cell.setting, cell.label] > 1
        else cell
        for cell in cells
    )


def _cell(folder: Path) -> Cell:
    summary = Summary.read(folder / "summary.json")
    formula, real = folder / "formula.json", folder / "real.json"
    there = real.is_file()
    return Cell(
        label=summary.policy_label,
        summary=summary,
        jobs=check_table(folder / "jobs.parquet", tables.SCHEDULED),
        allocations=check_table(_allocations(folder), tables.ALLOCATIONS),
        nodes=read_rows(folder / "nodes.parquet", tables.NODES),
        load=read_table(folder / "load.parquet", tables.LOAD),
        formula=FormulaResponse.read(formula) if formula.is_file() else None,
        real=RealRun.read(real) if there else None,
        real_jobs=check_table(folder / "real.parquet", tables.SCHEDULED) if there else None,
    )


def _allocations(folder: Path) -> Path:
    old = folder / "stays.parquet"  # as older versions named it
    return old if old.is_file() else folder / "allocations.parquet"
