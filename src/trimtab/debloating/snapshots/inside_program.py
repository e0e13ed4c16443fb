"""Record or save a program's start, from inside the program: Python 3.8 or newer, without trimtab.

`native/file_fallback/snapshot_start.c` runs this file when Python starts with TRIMTAB_SNAPSHOT, the
file's path. Beside it are `watching.py`, `renewing.py`, the library `trimtab_snapshot.abi3.so` and
`task`: lines NAME=VALUE or NAME of variables to restore, an empty line, the number of the import
after which the start is saved (0: record only), and a digest of each generator's state when another
process was saved there (none: no such process). `log` is written as `native/snapshot/record.c`
says; beside it `words`, of the command, each with a zero byte; `image`, and `why` if none could be
written.
"""

# Nothing is imported that Python has not loaded: which modules it has is the program's matter.
import _frozen_importlib as _importlib
import _frozen_importlib_external as _external
import _imp
import _thread
import builtins
import os
import sys

MYPY = False  # true for type checkers only
if MYPY:
    from typing import Any


def start(script: "str") -> None:
    """Record from now on; save the start after the import that `task` says."""
    # Without the fallback, as in a start that looks for a snapshot.
    modules = len(sys.modules) - 1
    folder, _, _ = script.rpartition("/")
    place = folder + "/trimtab_snapshot.abi3.so"
    library = _imp.create_dynamic(_importlib.ModuleSpec("trimtab_snapshot", None, origin=place))
    with open(folder + "/task") as file:
        variables, _, task = file.read().partition("\n\n")
    number, *states = task.split()
    _restore_variables(variables)
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().split(b"\0")[:-1]
    count = len(words) - max(len(sys.argv) - 1, 0)  # before the program's arguments
    with open(folder + "/words", "wb") as file:
        file.write(b"".join(word + b"\0" for word in words))
    with open("/proc/self/comm", "rb") as file:
        name = os.fsdecode(file.read()[:-1])
    notes = _Notes(library)
    importing = _Importing(notes, int(number), folder, count, states)
    facts = [
        "machine " + library.machine(),
        "signals {} {}".format(*library.signals()),
        "here " + os.path.realpath("."),
        "executable " + sys.executable,
        "name " + name,
        "locale " + os.environ.get("LC_CTYPE", ""),  # Python may have set it (PEP 538)
        f"words {count}",
        f"path {modules} " + "".join(folder + "\n" for folder in sys.path),
    ]
    if not int(number):
        _load(folder, "watching")["watch_reads"](notes)
    why = library.record(os.fsencode(folder + "/log"))
    if why:
        raise SystemExit(why)
    for fact in facts:
        notes.note(fact)
    for module in [*sys.modules.values()]:
        notes.note_file(getattr(module, "__dict__", {}))
    importing.begin()


def _load(folder: "str", name: "str") -> "dict[str, Any]":
    """Return the global names of the file beside this one."""
    names: dict[str, Any] = {"__name__": "trimtab_snapshot_" + name}
    with open(f"{folder}/{name}.py", encoding="utf-8") as file:
        exec(compile(file.read(), "<trimtab snapshot>", "exec"), names)
    return names


def _restore_variables(variables: "str") -> None:
    del os.environ["TRIMTAB_SNAPSHOT"]
    for text in variables.split("\n"):
        name, is_set, value = text.partition("=")
        if is_set:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)


class _Notes:
    """What is written to the log besides system calls."""

    def __init__(self, library: "Any") -> None:
        self.library = library
        self.files = set()  # type: set[str]

    def note(self, text: "str") -> None:
        self.library.note(os.fsencode(text))

    def note_file(self, names: "dict[str, Any]") -> None:
        """Say once where a module is, by its global names."""
        name, file = names.get("__name__"), names.get("__file__")
        if isinstance(name, str) and isinstance(file, str) and name not in self.files:
            self.files.add(name)
            self.note(f"file {name} {file}")


class _Importing:
    """Notes each import, and saves the process after one."""

    def __init__(
        self, notes: _Notes, number: "int", folder: "str", words: "int", states: "list[str]"
    ) -> None:
        self.notes, self.number, self.folder = notes, number, folder
        self.words, self.states = words, states
        self.renewing = _load(folder, "renewing")
        self.arguments, self.given = sys.argv, sys.argv[1:]
        self.done, self.is_saved = 0, False
        self.original: Any = builtins.__import__
        self.by_name: Any = _importlib._gcd_import  # type: ignore[attr-defined]
        self.loader: Any = _external.SourceFileLoader
        self.write = self.loader.__dict__["_cache_bytecode"]

    def begin(self) -> None:
        """Note imports from now on."""
        self._replace(self.import_module, self.import_by_name)
        # Byte code is written when the program starts as usual.
        self.loader._cache_bytecode = lambda *arguments: None

    @staticmethod
    def _replace(module: "Any", by_name: "Any") -> None:
        builtins.__import__ = module
        _importlib._gcd_import = by_name  # type: ignore[attr-defined]

    def import_module(
        self,
        name: "str",
        globals: "Any" = None,
        locals: "Any" = None,
        fromlist: "Any" = (),
        level: "int" = 0,
    ) -> "Any":
        """Stand in for `__import__`."""
        names = globals or {}
        self.notes.note_file(names)
        asked = "." * level + name + ":" + ",".join(map(str, fromlist or ()))
        call = self.original, name, globals, locals, fromlist, level
        return self._noted(names.get("__name__") or "?", asked, *call)

    def import_by_name(self, name: "str", package: "Any" = None, level: "int" = 0) -> "Any":
        """Stand in for what `importlib.import_module` calls."""
        return self._noted(
            package or "?", "." * level + name + ":", self.by_name, name, package, level
        )

    def _noted(self, importer: "str", asked: "str", call: "Any", *arguments: "Any") -> "Any":
        self.notes.note(f"begin {importer} {asked}")
        before = len(sys.modules)
        try:
            module = call(*arguments)
        except BaseException:
            self._end("failed", importer, before)
            raise
        self._end("end", importer, before)
        if self.done == self.number:
            self.save()
        return module

    def _end(self, how: "str", importer: "str", before: "int") -> None:
        if self.is_saved:  # in an import after which the process went on
            return
        self.done += 1
        new = [*sys.modules][before:]
        for name in new:
            self.notes.note_file(getattr(sys.modules[name], "__dict__", {}))
        is_plain = not new or self._is_plain()
        self.notes.note(f"{how} {self.done} {len(new)} {importer} {is_plain:d}")

    def _is_plain(self) -> "bool":
        """Whether the process has no threads, open files or text to write."""
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream and stream.closed:
                return False
            if stream:
                stream.flush()
        return bool(self.notes.library.is_plain()) and not _thread._count()

    def save(self) -> None:
        """Save the process; return in each that goes on from the snapshot."""
        self.is_saved, self.number = True, 0
        self._replace(self.original, self.by_name)
        self.loader._cache_bytecode = self.write
        state_of = self.renewing["state_of"]
        generators = [each for each in self._objects() if state_of(each) is not None]
        states = [state_of(each) for each in generators]
        for state in states:
            self.notes.note("generator " + state)
        # Two processes do not draw the same by chance.
        by_chance = [each for i, each in enumerate(generators) if states[i] not in self.states]
        del generators
        self._freeze()
        new = self.notes.library.save(os.fsencode(self.folder + "/image"))
        if isinstance(new, str):
            why = os.open(self.folder + "/why", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.write(why, new.encode())
        if not isinstance(new, tuple):
            os._exit(7 if isinstance(new, str) else 0)  # module.c's IS_DONE
        # A program that changed its arguments goes on with no others.
        is_as_given = self.arguments[1:] == self.given
        self.renewing["renew"](*new, self.words, self.arguments if is_as_given else None, by_chance)

    @staticmethod
    def _freeze() -> "None":
        """Have collections of garbage pass over what is there, whose pages all processes share."""
        is_new = "gc" not in sys.modules
        import gc

        gc.freeze()
        if is_new:
            del sys.modules["gc"]

    @staticmethod
    def _objects() -> "list[Any]":
        if "random" not in sys.modules and "numpy" not in sys.modules:
            return []
        import gc

        # Of C++, which the collector does not know.
        of_torch = getattr(sys.modules.get("torch"), "default_generator", None)
        return [*gc.get_objects(), of_torch]


start(os.environ["TRIMTAB_SNAPSHOT"])
