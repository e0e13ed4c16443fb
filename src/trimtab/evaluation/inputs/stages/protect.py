"""The runs of task programs in enclaves, and their simulations (PROTECTED_RUNS)."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from trimtab.evaluation.inputs.checks import keys_of, read_rows, refuse_twice
from trimtab.evaluation.inputs.measurements import EvaluationInputs
from trimtab.records.tables import PROTECTED_RUNS


def read(files: Sequence[Path], inputs: EvaluationInputs) -> pd.DataFrame:
    """Return the runs of all task programs."""
    frames = [read_rows(path, PROTECTED_RUNS) for path in files]
    runs = pd.concat(frames, ignore_index=True)
    names = ("variant", "enclave", "costs", "workers", "size", "block", "schedule_policy", "repeat")
    keys = runs.fillna({"enclave": "", "costs": ""})
    refuse_twice("run of", keys_of(keys, "task_program", "hardware", *names))
    return runs
