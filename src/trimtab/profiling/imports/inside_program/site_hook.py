"""Start the record as Python's `sitecustomize`, and be as if it were not there.

The environment's own `sitecustomize` runs as ever. If there is none, this fails as the import of a
missing one does, which Python's `site` expects.
"""

import os
import sys

RECORDS = "TRIMTAB_IMPORTS"  # a variable: the folder for records


def _begin(folder: str) -> None:
    own = os.path.split(os.path.abspath(__file__))[0]
    writes_none = sys.dont_write_bytecode
    sys.dont_write_bytecode = False  # beside these files, which are trimtab's own
    from trimtab.profiling.imports.inside_program.start import start

    sys.dont_write_bytecode = writes_none
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != own]
    sys.path_importer_cache.pop(own, None)
    ours = ("sitecustomize", start.__module__.partition(".")[0])
    for name in list(sys.modules):
        if name.partition(".")[0] in ours:
            del sys.modules[name]
    missing = None
    try:
        __import__("sitecustomize")
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        missing = error
    start(folder)
    if missing is not None:
        raise missing


if __name__ == "sitecustomize" and RECORDS in os.environ:
    _begin(os.environ[RECORDS])
