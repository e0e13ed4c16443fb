"""Record a program's start, or save it, from inside the program: Python 3.8 or newer, without trimtab.

`native/file_fallback/snapshot_start.c` runs this file when Python starts with TRIMTAB_SNAPSHOT, the
file's path. Beside it are the library `trimtab_snapshot.abi3.so` and `task`: lines NAME=VALUE or NAME of
variables to restore, an empty line, the number of the import after which the start is saved (0: record
only), and a digest of each generator's state when another process was saved there (none: no such
process). `log` is written as `native/snapshot/record.c` says; beside it `words`, of the command,
each with a zero byte; `image`, and `why` if none could be written.
"""

import sys

_MODULES = len(sys.modules) - 1  # without the fallback, as in a start that looks for a snapshot

# Nothing is imported that Python has not loaded: which modules it has is the program's matter.
import _frozen_importlib
import _frozen_importlib_external
import _imp
import _thread
import builtins
import os
import time

_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_LIST_METHODS = (
    "__getitem__", "__iter__", "__len__", "__contains__", "__eq__", "__add__", "__repr__", "copy",
    "index", "count", "pop", "remove", "insert", "append", "extend", "__setitem__", "__delitem__",
    "clear", "reverse", "sort", "__reversed__", "__reduce_ex__", "__ne__", "__mul__", "__iadd__",
)  # fmt: skip
_STREAMS = (("__stdin__", "r"), ("__stdout__", "w"), ("__stderr__", "w"))


def start(script):
    """Record from now on; save the start after the import that `task` says."""
    folder = os.path.dirname(script)
    place = folder + "/trimtab_snapshot.abi3.so"
    library = _imp.create_dynamic(
        _frozen_importlib.ModuleSpec("trimtab_snapshot", None, origin=place)
    )
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
        "here " + os.getcwd(),
        "executable " + sys.executable,
        "name " + name,
        f"words {count}",
        f"path {_MODULES} " + "".join(folder + "\n" for folder in sys.path),
    ]
    if not int(number):
        _watch_reads(notes)
    why = library.record(os.fsencode(folder + "/log"))
    if why:
        raise SystemExit(why)
    for fact in facts:
        notes.note(fact)
    for module in [*sys.modules.values()]:
        notes.note_file(getattr(module, "__dict__", {}))
    importing.begin()


def _restore_variables(variables):
    del os.environ["TRIMTAB_SNAPSHOT"]
    for text in variables.split("\n"):
        name, is_set, value = text.partition("=")
        if is_set:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)


class _Notes:
    """What is written to the log besides system calls."""

    def __init__(self, library):
        self.library, self.files = library, {None}

    def note(self, text):
        self.library.note(os.fsencode(text))

    def note_file(self, names):
        """Say once where a module is, by its global names."""
        name, file = names.get("__name__"), names.get("__file__")
        if name not in self.files and isinstance(name, str) and isinstance(file, str):
            self.files.add(name)
            self.note(f"file {name} {file}")


class _Importing:
    """Notes each import, and saves the process after one."""

    def __init__(self, notes, number, folder, words, states):
        self.notes, self.number, self.folder = notes, number, folder
        self.words, self.states = words, states
        self.arguments, self.given, self.done = sys.argv, sys.argv[1:], 0
        self.original, self.by_name = builtins.__import__, _frozen_importlib._gcd_import
        self.loader = _frozen_importlib_external.SourceFileLoader
        self.write = self.loader._cache_bytecode

    def begin(self):
        builtins.__import__ = self.import_module
        _frozen_importlib._gcd_import = self.import_by_name
        # Byte code is written when the program starts as usual.
        self.loader._cache_bytecode = lambda *arguments: None

    def import_module(self, name, globals=None, locals=None, fromlist=(), level=0):
        names = globals or {}
        self.notes.note_file(names)
        asked = "." * level + name + ":" + ",".join(map(str, fromlist or ()))
        call = self.original, name, globals, locals, fromlist, level
        return self._noted(names.get("__name__") or "?", asked, *call)

    def import_by_name(self, name, package=None, level=0):
        return self._noted(
            package or "?", "." * level + name + ":", self.by_name, name, package, level
        )

    def _noted(self, importer, asked, call, *arguments):
        self.notes.note(f"begin {importer} {asked}")
        result, before = "failed", len(sys.modules)
        try:
            module = call(*arguments)
            result = "end"
        finally:
            self.done += 1
            new = [*sys.modules][before:]
            for name in new:
                self.notes.note_file(getattr(sys.modules[name], "__dict__", {}))
            is_plain = not new or self._is_plain()
            self.notes.note(f"{result} {self.done} {len(new)} {importer} {is_plain:d}")
        if self.done == self.number:
            self.save()
        return module

    def _is_plain(self):
        """Whether the process has no threads, open files or text to write."""
        for stream in (sys.__stdout__, sys.__stderr__):
            if stream and stream.closed:
                return False
            if stream:
                stream.flush()
        return self.notes.library.is_plain() and not _thread._count()

    def save(self):
        """Save the process; return in each that goes on from the snapshot."""
        builtins.__import__, _frozen_importlib._gcd_import = self.original, self.by_name
        self.loader._cache_bytecode = self.write
        generators = [each for each in self._objects() if _state_of(each) is not None]
        states = [_state_of(each) for each in generators]
        for state in states:
            self.notes.note("generator " + state)
        by_chance = [
            each for each, state, before in zip(generators, states, self.states) if state != before
        ]
        del generators
        new = self.notes.library.save(os.fsencode(self.folder + "/image"))
        if isinstance(new, str):
            why = os.open(self.folder + "/why", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.write(why, new.encode())
        if not isinstance(new, tuple):
            os._exit(7 if isinstance(new, str) else 0)  # module.c's IS_DONE
        # A program that changed its arguments goes on with no others.
        is_as_given = self.arguments[1:] == self.given
        renew(*new, self.words, self.arguments if is_as_given else None, by_chance)

    @staticmethod
    def _objects():
        if "random" not in sys.modules and "numpy" not in sys.modules:
            return []
        import gc

        return gc.get_objects()


def _state_of(thing):
    """Return a digest of the state of a generator of random numbers; None of anything else."""
    kind = type(thing)
    random, numpy = sys.modules.get("random"), sys.modules.get("numpy.random.bit_generator")
    # By the type alone: `isinstance` asks the object's own code.
    if (
        random is not None
        and random.Random in kind.__mro__
        and random.SystemRandom not in kind.__mro__
    ):
        return format(hash(random.Random.getstate(thing)) & (1 << 64) - 1, "x")
    if numpy is not None and numpy.BitGenerator in kind.__mro__:
        return format(hash(int.from_bytes(str(thing.state).encode(), "big")) & (1 << 64) - 1, "x")
    return None


def renew(arguments, variables, words, list_of_arguments, by_chance):
    """Give a process that goes on what is its own: arguments, variables, streams, time, chance."""
    arguments = [os.fsdecode(each) for each in arguments]
    if list_of_arguments:
        list_of_arguments[1:] = arguments[words:]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = arguments
    import posix

    pairs = {}
    for each in variables:
        name, is_set, value = each.partition(b"=")
        if is_set:
            pairs.setdefault(name, value)
    for kept in (os.environ._data, posix.environ):
        kept.clear()
        kept.update(pairs)
    for name, mode in _STREAMS:
        _renew_stream(getattr(sys, name), mode)
    for each in by_chance:
        _draw_again(each)
    modules = sys.modules
    if "ssl" in modules:
        modules["ssl"].RAND_add(os.urandom(32), 32.0)
    if "multiprocessing.process" in modules:
        process = modules["multiprocessing.process"]
        process._current_process._config["authkey"] = process.AuthenticationString(os.urandom(32))
    if "multiprocessing.util" in modules:
        for each in [*modules["multiprocessing.util"]._finalizer_registry.values()]:
            each._pid = os.getpid()  # it does nothing in other processes
    if "logging" in modules:
        now = time.time_ns() if isinstance(modules["logging"]._startTime, int) else time.time()
        modules["logging"]._startTime = now
    if "threading" in modules and hasattr(modules["threading"].Thread, "_set_native_id"):
        modules["threading"].main_thread()._set_native_id()


def _draw_again(generator):
    if hasattr(generator, "seed"):
        generator.seed()
        return
    seeds = getattr(generator, "seed_seq", None) or getattr(generator, "_seed_seq", None)
    if hasattr(seeds, "entropy"):
        seeds.__init__()
    generator.state = type(generator)(seeds).state


def _renew_stream(stream, mode):
    """Make a standard stream again in its place, as the new process's files may be others."""
    if stream is None:
        return
    buffer = stream.buffer
    raw = getattr(buffer, "raw", buffer)
    name, number, lines = stream.name, stream.fileno(), stream.line_buffering
    settings = {"encoding": stream.encoding, "errors": stream.errors}
    through = getattr(stream, "write_through", False)
    raw.__init__(number, mode + "b", closefd=False)
    raw.name = name
    if raw is not buffer:
        buffer.__init__(raw, raw._blksize)
    lines = lines or (mode == "w" and raw.isatty())
    stream.__init__(buffer, newline="\n", line_buffering=lines, write_through=through, **settings)
    stream.mode = mode


def _watch_reads(notes):
    """Note which variables, arguments, folders and clocks Python code asks for."""

    class Environment(type(os.environ)):
        def __getitem__(self, key):
            notes.note("asks " + os.fsdecode(key))
            return super().__getitem__(key)

        def __delitem__(self, key):
            notes.note("asks " + os.fsdecode(key))
            return super().__delitem__(key)

        def __iter__(self):
            notes.note("asks *")
            return super().__iter__()

        def __len__(self):
            notes.note("asks *")
            return super().__len__()

        def __repr__(self):
            notes.note("asks *")
            return super().__repr__()

    def noted(name):
        method = getattr(list, name)

        def call(self, *arguments):
            # The first is the program.
            if name not in ("__getitem__", "__setitem__") or arguments[0] != 0:
                notes.note("arguments")
            return method(self, *arguments)

        return call

    def clocked(clock):
        def read():
            names = sys._getframe(1).f_globals
            notes.note_file(names)
            notes.note("clock " + str(names.get("__name__")))
            return clock()

        return read

    def listed(call):
        def read(path=None):
            asker = sys._getframe(1).f_globals.get("__name__")
            if not isinstance(path, int):
                place = os.path.abspath("." if path is None else os.fsdecode(path))
                notes.note(f"lists {asker} {place}")
            return call(path)

        return read

    os.environ.__class__ = Environment
    if hasattr(os, "environb"):
        os.environb.__class__ = Environment
    texts = type("list", (list,), {name: noted(name) for name in _LIST_METHODS})
    sys.argv = texts(sys.argv)
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = texts(sys.orig_argv)
    os.listdir, os.scandir = listed(os.listdir), listed(os.scandir)
    for name in _CLOCKS:
        setattr(time, name, clocked(getattr(time, name)))


start(os.environ["TRIMTAB_SNAPSHOT"])
