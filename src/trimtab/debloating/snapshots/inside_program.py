"""Record a program's start, or save it, from inside the program: Python 3.8 or newer, without trimtab.

`native/file_fallback/snapshot_start.c` runs this file when Python starts with TRIMTAB_SNAPSHOT, the
file's path. Beside it are the library `trimtab_snapshot.abi3.so` and `task`: lines NAME=VALUE or NAME of
variables to restore, an empty line, the number of the import after which the start is saved (0: record
only), and a digest of each generator's state when another process was saved there (none: no such
process). `log` is written as `native/snapshot/record.c` says; beside it `image`, and `why` if none could
be written.
"""

# Nothing is imported that Python has not loaded: which modules it has is the program's matter.
import _imp
import builtins
import os
import sys
import time
from _frozen_importlib import ModuleSpec

_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns")
_LIST_METHODS = (
    "__getitem__", "__iter__", "__len__", "__contains__", "__eq__", "__add__", "__repr__", "copy",
    "index", "count", "pop", "remove", "insert", "append", "extend", "__setitem__", "__delitem__",
    "clear", "reverse",
)  # fmt: skip
_STREAMS = (("__stdin__", "r"), ("__stdout__", "w"), ("__stderr__", "w"))


def start(script):
    """Record from now on; save the start after the import that `task` says."""
    folder = os.path.dirname(script)
    spec = ModuleSpec("trimtab_snapshot", None, origin=folder + "/trimtab_snapshot.abi3.so")
    library = _imp.create_dynamic(spec)
    with open(folder + "/task") as file:
        variables, _, task = file.read().partition("\n\n")
    number, *states = task.split()
    del os.environ["TRIMTAB_SNAPSHOT"]
    for text in variables.split("\n"):
        name, is_set, value = text.partition("=")
        if is_set:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().count(b"\0") - max(len(sys.argv) - 1, 0)
    importing = _Importing(library, int(number), folder, words, states)
    ignored = library.ignored()
    here = os.getcwd()
    machine = library.machine()
    if not int(number):
        _watch_reads(library)
    why = library.record(folder + "/log")
    if why:
        raise SystemExit(why)
    library.note("machine " + machine)
    library.note(f"ignored {ignored}")
    library.note(f"words {words}")
    library.note("here " + here)
    library.note("executable " + sys.executable)
    builtins.__import__ = importing.import_module


class _Importing:
    """Stands in for `__import__`, notes each import, and saves the process after one."""

    def __init__(self, library, number, folder, words, states):
        self.library, self.number, self.folder = library, number, folder
        self.words, self.states = words, states
        self.arguments = sys.argv
        self.done, self.original = 0, builtins.__import__

    def import_module(self, name, globals=None, locals=None, fromlist=(), level=0):
        importer = (globals or {}).get("__name__") or "?"
        asked = "." * level + name + ":" + ",".join(map(str, fromlist or ()))
        self.library.note(f"begin {importer} {asked}")
        is_done, before = False, len(sys.modules)
        try:
            module = self.original(name, globals, locals, fromlist, level)
            is_done = True
        finally:
            self.done += 1
            loaded = len(sys.modules) - before
            self.library.note(f"{'end' if is_done else 'failed'} {self.done} {loaded} {importer}")
        if self.done == self.number:
            self.save()
        return module

    def save(self):
        """Save the process; return in each that goes on from the snapshot."""
        builtins.__import__ = self.original
        generators = [each for each in self._objects() if _state_of(each) is not None]
        states = [_state_of(each) for each in generators]
        for state in states:
            self.library.note("generator " + state)
        by_chance = [
            each
            for each, state, before in zip(generators, states, self.states)
            if state != before
        ]
        del generators
        new = self.library.save(self.folder + "/image")
        if isinstance(new, str):
            why = os.open(self.folder + "/why", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.write(why, new.encode())
        if not isinstance(new, tuple):
            os._exit(0)
        renew(*new, self.words, self.arguments, by_chance)

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
    if random is not None and random.Random in kind.__mro__ and random.SystemRandom not in kind.__mro__:
        return format(hash(random.Random.getstate(thing)) & (1 << 64) - 1, "x")
    if numpy is not None and numpy.BitGenerator in kind.__mro__:
        return format(hash(int.from_bytes(str(thing.state).encode(), "big")) & (1 << 64) - 1, "x")
    return None


def renew(arguments, variables, words, list_of_arguments, by_chance):
    """Give a process that goes on what is its own: arguments, variables, streams, time, chance."""
    arguments = [os.fsdecode(each) for each in arguments]
    list_of_arguments[1:] = arguments[words:]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = arguments
    import posix

    pairs = dict(each.partition(b"=")[::2] for each in variables)
    for kept in (os.environ._data, posix.environ):
        kept.clear()
        kept.update(pairs)
    for name, mode in _STREAMS:
        _renew_stream(getattr(sys, name), mode)
    for each in by_chance:
        if hasattr(each, "seed"):
            each.seed()
        else:
            each.state = type(each)().state
    modules = sys.modules
    if "ssl" in modules:
        modules["ssl"].RAND_add(os.urandom(32), 32.0)
    if "multiprocessing.process" in modules:
        process = modules["multiprocessing.process"]
        process._current_process._config["authkey"] = process.AuthenticationString(os.urandom(32))
    if "logging" in modules:
        now = time.time_ns() if isinstance(modules["logging"]._startTime, int) else time.time()
        modules["logging"]._startTime = now
    if "threading" in modules and hasattr(modules["threading"].Thread, "_set_native_id"):
        modules["threading"].main_thread()._set_native_id()


def _renew_stream(stream, mode):
    """Make a standard stream again in its place, as the new process's files may be others."""
    if stream is None:
        return
    buffer = stream.buffer
    is_raw = not hasattr(buffer, "raw")
    name = stream.name
    through = getattr(stream, "write_through", False)
    settings = {"encoding": stream.encoding, "errors": stream.errors}
    number = stream.fileno()
    new = open(number, mode + "b", 0 if is_raw else -1, closefd=False)
    raw = new if is_raw else new.raw
    raw.name = name
    lines = mode == "w" and (raw.isatty() or name == "<stderr>")
    newline = None if mode == "r" else "\n"
    stream.__init__(new, newline=newline, line_buffering=lines, write_through=through, **settings)
    stream.mode = mode


def _watch_reads(library):
    """Note which variables, arguments and clocks Python code asks for."""

    class Environment(type(os.environ)):
        def __getitem__(self, key):
            library.note(f"asks {key}")
            return super().__getitem__(key)

        def __iter__(self):
            library.note("asks *")
            return super().__iter__()

    def noted(name):
        method = getattr(list, name)

        def call(self, *arguments):
            if (name, arguments) != ("__getitem__", (0,)):
                library.note("arguments")
            return method(self, *arguments)

        return call

    def clocked(clock, name):
        def read():
            library.note(f"clock {sys._getframe(1).f_globals.get('__name__')}")
            return clock()

        return read

    os.environ.__class__ = Environment
    sys.argv = type("list", (list,), {name: noted(name) for name in _LIST_METHODS})(sys.argv)
    for name in _CLOCKS:
        setattr(time, name, clocked(getattr(time, name), name))


start(os.environ["TRIMTAB_SNAPSHOT"])
