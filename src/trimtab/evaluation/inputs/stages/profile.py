"""What each workload used, and its runs."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.inputs.checks import folders_of, keys_of, read_rows, refuse_twice
from trimtab.evaluation.inputs.measurements import EvaluationInputs, WorkloadProfile
from trimtab.records import tables
from trimtab.records.parquet.files import read_table
from trimtab.records.usage import Usage


def read(files: Sequence[Path], inputs: EvaluationInputs) -> tuple[WorkloadProfile, ...]:
    """Return the profile of each workload and hardware.

    Raises UserError where a trace is incomplete or a profile is given twice.
    """
    profiles = tuple(_profile(folder) for folder in folders_of(files, "usage.json"))
    refuse_twice("workload", [(p.workload, p.hardware) for p in profiles])
    return profiles


def _profile(folder: Path) -> WorkloadProfile:
    usage = Usage.read(folder / "usage.json")
    if not usage.complete:
        reasons = "; ".join(usage.incomplete_because or ["no reason was recorded"])
        raise UserError(
            f"{folder / 'usage.json'}: the trace is incomplete ({reasons}); "
            "nothing is concluded from it: profile the workload again"
        )
    runs = read_rows(folder / "runs.parquet", tables.RUNS)
    epochs = read_table(folder / "epochs.parquet", tables.EPOCHS)
    workload, hardware = _only(runs, folder / "runs.parquet", ("workload", "hardware"))
    refuse_twice(f"{folder / 'runs.parquet'}: run", keys_of(runs, "condition", "repeat"))
    return WorkloadProfile(workload, workload, hardware, usage, runs, epochs)


def _only(frame: pd.DataFrame, path: Path, columns: tuple[str, str]) -> tuple[str, str]:
    for column in columns:
        if frame[column].nunique() != 1:
            raise TrimtabError(f"{path}: expected one {column}, found {set(frame[column])}")
    return str(frame[columns[0]].iloc[0]), str(frame[columns[1]].iloc[0])
