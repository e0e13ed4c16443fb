"""What each stage of the chain is worth to the jobs of traces."""

from collections.abc import Sequence
from pathlib import Path

from trimtab.evaluation.inputs.measurements import EvaluationInputs
from trimtab.records.batch.worth import Worth


def read(files: Sequence[Path], inputs: EvaluationInputs) -> dict[tuple[str, str, str], Worth]:
    """Return what was weighed, by cluster, trace and policy: the names of the files' folders."""
    return {
        (path.parts[-4], path.parts[-3], path.parts[-2]): Worth.read(path)
        for path in files
        if path.name == "worth.json"
    }
