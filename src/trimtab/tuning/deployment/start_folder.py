"""The modules that a program imports from the folder in which it starts."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from trimtab.errors import TrimtabError

_TIMEOUT_S = 60.0
# Run by the program's own interpreter, 3.8 or later: where each module is found, or null.
_FIND = """
import importlib.util, json, sys
found = {}
for name in sys.argv[1:]:
    spec = importlib.util.find_spec(name)
    found[name] = spec and (spec.origin or next(iter(spec.submodule_search_locations), None))
print(json.dumps(found))
"""


def only_in(folder: Path, names: Iterable[str], python: Path) -> set[str]:
    """Return the top modules of `names` that `python` finds in `folder`, or nowhere by itself.

    The others are its own or installed, whatever `folder` has under their names. Raises
    TrimtabError where the interpreter cannot be run.
    """
    asked = sorted(name for name in names if name.isidentifier())
    if not asked:
        return set()
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        with tempfile.TemporaryDirectory() as empty:
            told = subprocess.run(
                [python.absolute(), "-c", _FIND, *asked], cwd=empty, env=own,
                capture_output=True, text=True, timeout=_TIMEOUT_S, check=True,
            ).stdout  # fmt: skip
        places = json.loads(told)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise TrimtabError(f"{python}: cannot find its modules: {error}") from None
    here = folder.resolve()
    return {
        name
        for name, place in places.items()
        if place is None
        or Path(place).resolve().is_relative_to(here / name)
        or Path(place).resolve() == here / f"{name}.py"
    }
