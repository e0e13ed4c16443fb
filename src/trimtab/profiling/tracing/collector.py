"""Run Python's cyclic garbage collector as often as possible.

It traverses the containers that exist at that moment, so its moments decide which types' functions
are seen. An eager collector visits nearly every type that a program creates.
"""

from collections.abc import Mapping
from pathlib import Path

from trimtab.files import naming
from trimtab.untrusted import new_folder

# Python's `site` imports the first module of this name; the hook then runs the environment's.
_HOOK = """\
import gc, os, sys
gc.set_threshold(1)
sys.path[:] = [folder for folder in sys.path if folder != os.path.dirname(__file__)]
del sys.modules["sitecustomize"]
import sitecustomize
"""


def eager_collection(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return `environment` with an eager collector in every Python program.

    A hook for Python's start is written to `folder`, which is emptied. Programs that set a
    threshold themselves keep it; programs that ignore PYTHONPATH (`-I`, `-E`, `-S`) are not
    affected.
    """
    new_folder(folder)
    with naming(folder / "sitecustomize.py"):
        (folder / "sitecustomize.py").write_text(_HOOK)
    others = environment.get("PYTHONPATH")
    return {**environment, "PYTHONPATH": f"{folder.resolve()}{f':{others}' if others else ''}"}
