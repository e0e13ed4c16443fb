"""What the searches of each tuner came to."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trimtab.evaluation.inputs.checks import folders_of, keys_of, read_rows, refuse_twice
from trimtab.evaluation.inputs.measurements import EvaluationInputs
from trimtab.evaluation.inputs.tunings import TunedCell
from trimtab.records import tables
from trimtab.records.parquet.files import read_table


def read(files: Sequence[Path], inputs: EvaluationInputs) -> tuple[TunedCell, ...]:
    """Return the cells; the last names of their folders are tuner, workload, hardware, objective.

    Raises UserError where one is given twice.
    """
    cells = tuple(_tuning(folder, inputs) for folder in folders_of(files, "trials.parquet"))
    refuse_twice("tuning", [(*cell.setting, cell.tuner) for cell in cells])
    return cells


def _tuning(folder: Path, inputs: EvaluationInputs) -> TunedCell:
    trials = read_rows(folder / "trials.parquet", tables.TRIALS)
    keys = keys_of(trials, "seed", "fold", "trial", "rung")
    refuse_twice(f"{folder / 'trials.parquet'}: seed / fold / trial / rung", keys)
    tuner, workload, hardware, objective = folder.parts[-4:]
    known = inputs.options.get("tuner", {}).get(tuner)
    label, after = (known.label or tuner, known.after or "") if known else (tuner, "")
    cell = TunedCell(tuner, workload, hardware, objective, label, trials, after=after)
    if (path := folder / "inference.parquet").is_file():
        cell = replace(cell, inference=read_table(path, tables.INFERENCE))
    if (path := folder / "inference_alone.parquet").is_file():
        cell = replace(cell, alone=read_table(path, tables.INFERENCE))
    return cell
