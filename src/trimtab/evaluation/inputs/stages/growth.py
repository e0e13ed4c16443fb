"""The lines of each code base by year (LINES_BY_YEAR)."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from trimtab.evaluation.inputs.checks import read_rows, refuse_twice
from trimtab.evaluation.inputs.measurements import EvaluationInputs
from trimtab.records.tables import LINES_BY_YEAR


def read(files: Sequence[Path], inputs: EvaluationInputs) -> tuple[pd.DataFrame, ...]:
    """Return a table for each code base."""
    growths = tuple(read_rows(path, LINES_BY_YEAR) for path in files)
    refuse_twice("code base", [(rows["code_base"].iloc[0],) for rows in growths])
    return growths
