"""How often each word of the texts occurs (WORDS)."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from trimtab.evaluation.inputs.checks import read_rows
from trimtab.evaluation.inputs.measurements import EvaluationInputs
from trimtab.records.words.occurrences import WORDS


def read(files: Sequence[Path], inputs: EvaluationInputs) -> pd.DataFrame:
    """Return the words of all texts."""
    return pd.concat([read_rows(path, WORDS) for path in files])
