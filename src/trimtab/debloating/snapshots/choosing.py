"""After which import a start is saved: as late as nothing of its own has begun."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trimtab.debloating.snapshots.log import OPENS, VARIABLES, Call, Entry, made_files, own_modules
from trimtab.debloating.snapshots.system_calls import name_of_call

_MAIN = "__main__"
_SEED_BYTES = 2496  # what `random` asks the kernel for
# Chance that a process which goes on has anew (inside_program.renew), by its bytes and the module.
_RENEWED = {
    (16, "numpy"), (16, "scipy"), (16, "sklearn"), (16, "pandas"),  # seeds of generators
    (32, "multiprocessing"), (16, "jupyter_client"),  # keys by which processes know each other
    (16, "transformers.utils"),  # the name of a session
}  # fmt: skip
# Seeds of hash tables, and names of things in the process, which nothing outside sees.
_INSIDE = {
    (8, "lxml"), (64, "pydantic"), (16, "opentelemetry"), (16, "fastapi"),
    (16, "torch.distributed"),
}  # fmt: skip
_INSECURE = 4  # GRND_INSECURE: nothing secret; Rust's hash tables
_NAME_OF_FILE = (8, 1)  # the C library's for names of temporary files, and for its heap
_CLOCKS = {Call.TIME, Call.GETTIMEOFDAY}
# What a program asks of its own process, or of the machine at this time.
_OF_PROCESS = {
    Call.GETPID, Call.GETPPID, Call.GETTID, Call.GETGROUPS, Call.GETRUSAGE, Call.TIMES,
    Call.SYSINFO,
}  # fmt: skip
# Fortran's library asks too, and writes to all streams as to a pipe.
_OF_STREAM = {Call.FSTAT, Call.NEWFSTATAT, Call.LSEEK}
_REALTIME = 0
_STREAMS = range(3)
_DEVICES = ("/dev/null", "/dev/shm/")
_SYSTEM = ("/usr/", "/lib", "/etc/", "/sys/", "/proc/sys/")
_OF_MACHINE = {"/proc/cpuinfo", "/proc/filesystems", "/proc/version", "/proc"}
_OF_START = ("/cmdline", "/environ", "/uptime", "/loadavg", "/self/stat", "/auxv")
_CODE = (".py", ".pyc", ".so", ".pth", ".zip")
_TRIES = 4
_ARGUMENTS = ("arguments",)
_RECORD = "/trimtab/fallback.jsonl"  # ours


def points(log: Sequence[Entry], roots: Sequence[Path]) -> list[list[int]]:
    """Return the numbers of imports after which to save the start, the best first.

    There are several lists if the program imports after it has read its arguments: the first is for
    the same arguments alone, the last for all. `roots` are the folders of the environment and its
    interpreter. An import counts if it loaded a module and everything before it can be repeated,
    compared or renewed.
    """
    end = _end(log, roots)
    reading = next((i for i, entry in enumerate(log) if entry.words == _ARGUMENTS), end)
    for_these, for_all = (_points_before(log[:each]) for each in (end, min(reading, end)))
    return [for_all] if for_all[:1] == for_these[:1] else [for_these, for_all]


def before(log: Sequence[Entry], number: int) -> Sequence[Entry]:
    """Return what comes before the end of an import."""
    return log[: next(i for i, entry in enumerate(log) if entry.words[:2] == ("end", str(number)))]


def reads_arguments(log: Sequence[Entry]) -> bool:
    """Return whether a start reads its arguments."""
    return any(entry.words == _ARGUMENTS for entry in log)


def why_not_later(log: Sequence[Entry], roots: Sequence[Path]) -> str:
    """Return in a few words what the program does after the last import that can be a point."""
    end = _end(log, roots)
    if end == len(log):
        return "the program ends"
    return _reason(log[end], roots, own_modules(log, roots))


def _points_before(log: Sequence[Entry]) -> list[int]:
    found = list(_points(log))
    of_program = [number for number, importer in found if importer == _MAIN]
    last = [number for number, _ in found[-1:]]
    return list(dict.fromkeys([*last, *reversed(of_program)]))[:_TRIES]


def _points(log: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """Yield the imports that loaded a module while the start had no file, thread or text of its
    own to write.
    """
    for place, entry in enumerate(log):
        if entry.words[:1] == ("end",):
            _, number, loaded, importer, is_plain = entry.words
            if int(loaded) > 0 and is_plain == "1" and not made_files(log[:place]):
                yield int(number), importer


def _end(log: Sequence[Entry], roots: Sequence[Path]) -> int:
    own = own_modules(log, roots)
    return next((i for i, entry in enumerate(log) if _reason(entry, roots, own)), len(log))


def _reason(entry: Entry, roots: Sequence[Path], own: Mapping[str, str]) -> str:
    """Return why nothing from `entry` on can be in a snapshot; "" if it can.

    `own` are the program's own modules and their files.
    """
    if entry.text.endswith(_RECORD):
        return ""
    match entry.kind, entry.words[:1]:
        case "harmful", _:
            return f"it calls {name_of_call(entry.number)} {entry.text}".strip()
        case "note", ("clock",) if entry.words[1].partition(".")[0] in own:
            return "it reads a clock"
    if entry.kind != "call":
        return ""
    is_own = entry.module.partition(".")[0] in own
    is_clock = entry.number in _CLOCKS or (
        entry.number == Call.CLOCK_GETTIME and entry.arguments[0] == _REALTIME
    )
    if is_own and (is_clock or entry.number in _OF_PROCESS):
        return "it reads a clock or its number"
    if is_own and entry.number in _OF_STREAM and entry.arguments[0] in _STREAMS:
        return "it asks what its standard streams are"
    if entry.number == Call.GETRANDOM and not _is_renewed(entry):
        return f"{entry.module} draws by chance"
    is_read = entry.number in OPENS and entry.result >= 0 and entry.text not in own.values()
    if is_read and not _may_read(entry, roots, is_own):
        return f"it reads {entry.text}"
    return ""


def _is_renewed(entry: Entry) -> bool:
    count, flags = entry.arguments[1:]
    words = entry.module.split(".")
    known = {(count, words[0]), (count, ".".join(words[:2]))} & (_RENEWED | _INSIDE)
    is_known = (count, flags) == _NAME_OF_FILE or known
    return bool(is_known) or not count or count == _SEED_BYTES or flags == _INSECURE


def _may_read(entry: Entry, roots: Sequence[Path], is_own: bool) -> bool:
    path = entry.text
    if path.startswith("/dev/"):  # PyTorch's seed is drawn anew
        is_seed = path == "/dev/urandom" and entry.module == "torch._C"
        return is_seed or path.startswith(_DEVICES)
    if path == VARIABLES:
        return True
    if path.startswith("/proc/") and not path.startswith("/proc/sys/"):
        return path in _OF_MACHINE or not (is_own or path.endswith(_OF_START))
    is_code = path.endswith(_CODE) or path.startswith(_SYSTEM)
    inside = any(Path(path).is_relative_to(root) for root in roots)
    return not is_own or is_code or inside or Path(path).is_dir()
