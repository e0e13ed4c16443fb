"""The source code that a node runs: the cold store, and urllib3."""

from importlib.util import find_spec
from pathlib import Path
from shutil import copytree, ignore_patterns

from trimtab import cold_store as package
from trimtab.errors import TrimtabError

_LEFT_OUT = ignore_patterns("__pycache__", "*.so", "contrib")


def copy_server(folder: Path) -> None:
    """Copy the modules of the server and of urllib3 into an empty `folder`.

    Raises TrimtabError if urllib3 is not there as files.
    """
    urllib3 = find_spec("urllib3")
    if urllib3 is None or not urllib3.submodule_search_locations:
        raise TrimtabError("urllib3 is not installed as files; install it again")
    copytree(urllib3.submodule_search_locations[0], folder / "urllib3", ignore=_LEFT_OUT)
    copytree(package.__path__[0], folder / "trimtab/cold_store", ignore=_LEFT_OUT)
    (folder / "trimtab/__init__.py").touch()
