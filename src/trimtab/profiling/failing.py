"""How an interpreter fails: what prints an error is used by no run that ends well.

Each interpreter that a run started is run once more, with a script of ours that fails.
"""

import re
from collections.abc import Iterator
from pathlib import PurePath

from trimtab.profiling.tracing.files import FileTrace

_INTERPRETER = re.compile(r"python3(\.\d+)?")
_MODULE = re.compile(r"(logging/__init__|threading)(\.cpython-\d+)?\.pyc?\Z")
ENDS = ("error", "exit", "interrupt")  # the first shows all other errors too

# Arguments: how to end, and what a failing program may import as its run did.
SCRIPT = """
import sys, traceback, warnings

class Deleted:
    def __del__(self):
        raise KeyError("deleted")

def fails(deep=0):
    if deep:
        return fails(deep - 1)
    try:
        return {}["key"] + 1
    except KeyError as error:
        raise ValueError("of it") from error

def show():
    sys.excepthook(*sys.exc_info())
    traceback.print_exc()

if sys.argv[1] == "exit":
    sys.exit("message")
if sys.argv[1] == "interrupt":
    raise KeyboardInterrupt
for failing in (
    "1 / 0", "undefined", "sys.exitt", "sys.nothing(1)", "{}['key']", "[][0]", "len(1)", "len()",
    "fails(1, 2)", "fails(no=1)", "fails(*1)", "int('x')", "int(None)", "float('x')", "iter(1)",
    "next(iter(()))", "b'\\\\xff'.decode()", "'\\\\udc80'.encode()", "open('/nothing/there')",
    "import nothing_there", "from sys import nothing", "a, b = 1", "a, b = [1]", "a, b = 1, 2, 3",
    "assert 0, 'message'", "' ' + 1", "1 + ' '", "None()", "None.name", "None[0]", "None[0] = 1",
    "for each in 1: pass", "with 1: pass", "raise 1", "object().name = 1", "del undefined",
    "class A(1): pass", "fails(5)", "1 +", "(", "def f(:", "  x", "'", "raise KeyboardInterrupt",
    "(lambda f: f(f))(lambda f: f(f))", "raise ExceptionGroup('of it', [OSError(), OSError(2)])",
    "'%d' % 'x'", "'{}'.format()", "'{x}'.format()", "[].remove(1)", "[1] < [None]", "abs('x')",
    "error = ValueError(1); error.add_note('note'); raise error",
):
    try:
        exec(failing)
    except BaseException:
        show()
Deleted()
for kind in (UserWarning, DeprecationWarning):
    warnings.warn("message", kind)
if "threading" in sys.argv:
    import threading
    thread = threading.Thread(target=fails)
    thread.start()
    thread.join()
if "logging" in sys.argv:
    import logging
    try:
        fails()
    except ValueError:
        logging.exception("message %s", 1)
fails(2)
"""


def interpreters(files: FileTrace) -> Iterator[tuple[str, list[str]]]:
    """Yield each interpreter that a run executed, as it was named, and SCRIPT's modules."""
    called: dict[str, str] = {}
    for file in files.files:
        if "execute" in file.uses and file.real_path and _is_interpreter(file.real_path):
            # A venv's link if there is one: Python finds the venv by it.
            is_link = file.path != file.real_path
            called[file.real_path] = file.path if is_link else called.get(file.path, file.path)
    modules = {
        found[1].partition("/")[0] for file in files.files if (found := _MODULE.search(file.path))
    }
    for path in called.values():
        yield path, sorted(modules)


def _is_interpreter(path: str) -> bool:
    return _INTERPRETER.fullmatch(PurePath(path).name) is not None
