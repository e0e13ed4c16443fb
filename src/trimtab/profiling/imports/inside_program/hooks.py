"""Have Python's import system tell of each import, without a frame that an error would show.

`importlib._bootstrap` looks up both names at each import, in 3.8 to 3.13: the lock that it holds
while it finds and loads a module, and the function by which it calls the module's code.
"""

import sys

from trimtab.profiling.imports.inside_program.import_log import ImportLog

MYPY = False  # true for type checkers only
if MYPY:
    from types import CodeType
    from typing import Any

_CALL = "_call_with_frames_removed"  # Python leaves frames of this name out of tracebacks
_CALLING = """def {name}(f, *args, **kwds):
    calls_body = f is exec and len(args) == 2 and type(args[0]) is CodeType
    if calls_body:
        failed, alone = True, body_begins(*args)
    elif f in creating:
        created(creating[f], *args)
    try:
        result = f(*args, **kwds)
        failed = False
        return result
    finally:
        if calls_body:
            body_ends(args[0], alone, failed)
"""
_LINES_BEFORE_CALL = 7
_IMPORTING = {
    *("importlib", "importlib._bootstrap", "importlib._bootstrap_external"),
    *("_frozen_importlib", "_frozen_importlib_external"),  # before `importlib` is imported
}


def hook_imports(log: "ImportLog") -> None:
    """Tell `log` of all imports from now on."""
    bootstrap: Any = sys.modules["_frozen_importlib"]
    bootstrap._ModuleLockManager = _telling(bootstrap._ModuleLockManager, log)
    imp: Any = sys.modules["_imp"]
    creating = {imp.create_dynamic: "native", imp.create_builtin: "built_in"}
    code: CodeType = getattr(bootstrap, _CALL).__code__
    # Its call is in the line of the original's, which tracebacks of `import_module` show.
    blank_lines = "\n" * (_last_line(code) - _LINES_BEFORE_CALL - 1)
    space = {
        "__name__": bootstrap.__name__,
        "CodeType": type(code),
        "creating": creating,
        "created": log.created,
        "body_begins": log.body_begins,
        "body_ends": log.body_ends,
    }
    source = blank_lines + _CALLING.format(name=_CALL)
    exec(compile(source, code.co_filename, "exec"), space)
    setattr(bootstrap, _CALL, space[_CALL])


def _telling(manager: "Any", log: "ImportLog") -> "Any":
    """Return a class of locks that tells `log` of the time between acquiring and release."""

    class _ModuleLockManager(manager):  # type: ignore[misc]
        def __enter__(self) -> None:
            super().__enter__()
            name = self._name
            self._begun = None if name in sys.modules else log.begin(name, _importer())

        def __exit__(self, *error: "Any") -> None:
            if self._begun is not None:
                log.end(self._begun, error[0] is not None)
            super().__exit__(*error)

    return _ModuleLockManager


def _importer() -> str:
    """Return the name of the module that asks for the import."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__")
        if type(name) is str and name not in _IMPORTING:
            return name
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _last_line(code: "CodeType") -> int:
    if hasattr(code, "co_lines"):
        return max(line for _, _, line in code.co_lines() if line is not None)
    return code.co_firstlineno + sum(code.co_lnotab[1::2])
