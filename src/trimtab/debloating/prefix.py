"""The Python environment that an interpreter belongs to."""

from pathlib import Path

from trimtab.errors import UserError
from trimtab.profiling.runs.from_workload import absolute

_SYSTEM = {Path("/"), Path("/usr"), Path("/usr/local")}


def prefix_of(python: Path) -> Path:
    """Return the environment of the interpreter `python`: the folder above its `bin`.

    Raises UserError for an interpreter of the operating system, whose folder holds far more than
    a Python environment, and for a path that is no interpreter in a `bin` folder.
    """
    python = absolute(python)
    prefix = python.parent.parent
    if not python.is_file() or python.parent.name != "bin":
        raise UserError(f"{python}: not an interpreter in the bin folder of an environment")
    if prefix in _SYSTEM:
        raise UserError(
            f"{python} belongs to the operating system; make an environment of its own"
            f" (`{python} -m venv ENV`), install the program there and name ENV/bin/python"
        )
    return prefix
