"""Give a process that goes on from a snapshot what is its own; `inside_program.py` loads this."""

import os
import sys
import time

MYPY = False  # true for type checkers only
if MYPY:
    from typing import Any

_STREAMS = (("__stdin__", "r"), ("__stdout__", "w"), ("__stderr__", "w"))


def renew(
    arguments: "list[bytes]",
    variables: "list[bytes]",
    words: "int",
    own_arguments: "Any",
    by_chance: "list[Any]",
) -> None:
    """Give a process that goes on what is its own: arguments, variables, streams, time, chance.

    `words` of its arguments are before those of the program, which are in the list `own_arguments`
    unless the program changed it. The generators `by_chance` draw anew.
    """
    texts = [os.fsdecode(each) for each in arguments]
    if own_arguments:
        own_arguments[1:] = texts[words:]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = texts
    _renew_variables(variables)
    for name, mode in _STREAMS:
        _renew_stream(getattr(sys, name), mode)
    for each in by_chance:
        _draw_again(each)
    _renew_modules(sys.modules)


def _renew_variables(variables: "list[bytes]") -> None:
    import posix

    pairs: dict[bytes, bytes] = {}
    for each in variables:
        name, is_set, value = each.partition(b"=")
        if is_set:
            pairs.setdefault(name, value)
    kept: Any
    for kept in (os.environ._data, posix.environ):  # type: ignore[attr-defined]
        kept.clear()
        kept.update(pairs)


def _renew_modules(modules: "dict[str, Any]") -> None:
    """Renew what modules know of their process."""
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
    if "jupyter_client.session" in modules:
        session = modules["jupyter_client.session"]
        session.session_flags["secure"][0]["Session"]["key"] = session.new_id_bytes()
    if "transformers.utils.hub" in modules:
        hub = modules["transformers.utils.hub"]
        hub.SESSION_ID = hub.uuid4().hex
    if "wsgiref.handlers" in modules:
        handlers = modules["wsgiref.handlers"]
        handlers.BaseHandler.os_environ = handlers.read_environ()
    if "threading" in modules and hasattr(modules["threading"].Thread, "_set_native_id"):
        modules["threading"].main_thread()._set_native_id()


def _draw_again(generator: "Any") -> None:
    if hasattr(generator, "seed"):
        generator.seed()
        return
    seeds = getattr(generator, "seed_seq", None) or getattr(generator, "_seed_seq", None)
    if hasattr(seeds, "entropy"):
        seeds.__init__()  # type: ignore[misc]
    generator.state = type(generator)(seeds).state


def _renew_stream(stream: "Any", mode: "str") -> None:
    """Make a standard stream again in its place, as the new process's files may be others."""
    if stream is None:
        return
    buffer = stream.buffer
    raw = getattr(buffer, "raw", buffer)
    name, number, lines = stream.name, stream.fileno(), stream.line_buffering
    settings = {"encoding": stream.encoding, "errors": stream.errors}
    through = getattr(stream, "write_through", False)
    if mode == "w" and os.environ.get("PYTHONUNBUFFERED"):
        raw = buffer = type(raw)(number, "wb", closefd=False)
        through = True
    raw.__init__(number, mode + "b", closefd=False)
    raw.name = name
    if raw is not buffer:
        buffer.__init__(raw, raw._blksize)
    lines = lines or (mode == "w" and raw.isatty())
    stream.__init__(buffer, newline="\n", line_buffering=lines, write_through=through, **settings)
    stream.mode = mode


def state_of(thing: "Any") -> "str | None":
    """Return a digest of the state of a generator of random numbers; None of anything else."""
    kind = type(thing)
    random, numpy = sys.modules.get("random"), sys.modules.get("numpy.random.bit_generator")
    torch = sys.modules.get("torch._C")
    # By the type alone: `isinstance` asks the object's own code. By the text: None has another hash
    # in each process.
    if (
        random is not None
        and random.Random in kind.__mro__
        and random.SystemRandom not in kind.__mro__
    ):
        state = random.Random.getstate(thing)
    elif numpy is not None and numpy.BitGenerator in kind.__mro__:
        state = thing.state
    elif torch is not None and torch.Generator in kind.__mro__:
        state = thing.initial_seed(), thing.get_state().tolist()
    else:
        return None
    return format(hash(int.from_bytes(repr(state).encode(), "big")) & (1 << 64) - 1, "x")
