"""The name of a new project, and the folder of its slim environment."""

import os
import re
from pathlib import Path

from trimtab.errors import UserError

HARDWARE = "this_machine"


def name_of(folder: Path) -> str:
    """Return the name of the project in `folder`: words of letters and digits.

    Raises UserError where the folder's name has none.
    """
    name = re.sub(r"[^a-z0-9]+", "_", Path(os.path.abspath(folder)).name.lower()).strip("_")
    if not name:
        raise UserError(f"{folder}: expected a name with letters or digits")
    return name


def results_in(folder: Path) -> Path:
    """Return the folder of the results of debloating, in the project's `folder`.

    Raises UserError as `name_of` does.
    """
    return folder / "results/debloat" / name_of(folder) / HARDWARE
