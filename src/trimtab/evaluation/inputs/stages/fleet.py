"""What fleets of images pull and store."""

from collections.abc import Sequence
from pathlib import Path

from trimtab.evaluation.inputs.measurements import EvaluationInputs
from trimtab.records.images.fleet import Fleet


def read(files: Sequence[Path], inputs: EvaluationInputs) -> dict[str, Fleet]:
    """Return fleets by their name, with the hardware where there are several."""
    several = len({path.parent.name for path in files}) > 1
    return {
        f"{path.parts[-3]} on {path.parts[-2]}" if several else path.parts[-3]: Fleet.read(path)
        for path in files
    }
