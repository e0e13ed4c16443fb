"""After which import a start is saved: as late as nothing of its own has begun."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from trimtab.debloating.snapshots.log import Call, Entry

_MAIN = "__main__"
_SEED_BYTES = 2496  # what `random` asks the kernel for
# Chance that the process which goes on has anew (inside_program.renew), by its bytes and the module.
_RENEWED = {
    (16, "numpy"), (16, "scipy"), (16, "sklearn"), (16, "pandas"),  # seeds of generators
    (32, "multiprocessing"),  # the key by which processes know each other
}  # fmt: skip
_NAME_OF_FILE = (8, 1)  # the C library's for names of temporary files, and for its heap
_CLOCKS = {Call.TIME, Call.GETTIMEOFDAY}
_REALTIME = 0
_OPENS = {Call.OPEN, Call.OPENAT, Call.OPENAT2}
_DEVICES = ("/dev/null", "/dev/urandom", "/dev/random", "/dev/shm/")
_SYSTEM = ("/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/")
_CODE = (".py", ".pyc", ".so", ".pth", ".zip")
_TRIES = 4
_ARGUMENTS = ("arguments",)
_MUCH = 1.5
_RECORD = "/trimtab/fallback.jsonl"  # ours


def points(log: Sequence[Entry], roots: Sequence[Path]) -> list[int]:
    """Return the numbers of imports after which to save the start, the best first; [] for none.

    `roots` are the folders of the environment and its interpreter. An import counts if it loaded
    a module and everything before it can be repeated, compared or renewed. Points before the program
    reads its arguments are preferred, as they serve all arguments, unless most of the start comes
    after that.
    """
    for_all, for_these = (_points_before(log, _end(log, roots, ends)) for ends in (True, False))
    if not for_all or _MUCH * _work_before(log, for_all[0]) < _work_before(log, for_these[0]):
        return for_these
    return for_all


def reads_arguments(log: Sequence[Entry], number: int) -> bool:
    """Return whether the start reads its arguments before the end of an import."""
    before = log[: _place(log, number)]
    return any(entry.words == _ARGUMENTS for entry in before)


def _points_before(log: Sequence[Entry], end: int) -> list[int]:
    found = list(_points(log[:end]))
    of_program = [number for number, importer in found if importer == _MAIN]
    last = [number for number, _ in found[-1:]]
    return list(dict.fromkeys([*last, *reversed(of_program)]))[:_TRIES]


def _place(log: Sequence[Entry], number: int) -> int:
    return next(i for i, entry in enumerate(log) if entry.words[:2] == ("end", str(number)))


def _work_before(log: Sequence[Entry], number: int) -> int:
    """Return the system calls before the end of an import, a measure of what a snapshot saves."""
    return sum(entry.kind == "call" for entry in log[: _place(log, number)])


def why_not_later(log: Sequence[Entry], roots: Sequence[Path]) -> str:
    """Return in a few words what the program does after the last import that can be a point."""
    end = _end(log, roots, arguments_end=False)
    return _reason(log[end], roots) if end < len(log) else "the program ends"


def _points(log: Sequence[Entry]) -> Iterator[tuple[int, str]]:
    """Yield the imports that loaded a module while no file of the start's own was there."""
    made = set[str]()
    for entry in log:
        if entry.number in _OPENS and entry.arguments[2] & 0o300 == 0o300 and entry.result >= 0:
            made.add(entry.text)
        elif entry.number == Call.LINK and entry.result == 0:
            made.add(entry.text)
        elif entry.number in (Call.UNLINK, Call.UNLINKAT):
            made.discard(entry.text)
        elif entry.words[:1] == ("end",) and int(entry.words[2]) > 0 and not made:
            yield int(entry.words[1]), entry.words[3]


def _end(log: Sequence[Entry], roots: Sequence[Path], arguments_end: bool) -> int:
    ends = (arguments_end and entry.words == _ARGUMENTS or _reason(entry, roots) for entry in log)
    return next((number for number, is_end in enumerate(ends) if is_end), len(log))


def _reason(entry: Entry, roots: Sequence[Path]) -> str:
    """Return why nothing from `entry` on can be in a snapshot; "" if it can."""
    if entry.text.endswith(_RECORD):
        return ""
    is_own = entry.module == _MAIN
    match entry.kind, entry.words[:1]:
        case "harmful", _:
            return f"system call {entry.number} {entry.text}".strip()
        case "note", ("asks",) if entry.words[1] == "*":
            return "it reads all variables of the environment"
        case "note", ("clock",) if entry.words[1] == _MAIN:
            return "it reads a clock"
    is_clock = entry.number in _CLOCKS or (
        entry.number == Call.CLOCK_GETTIME and entry.arguments[0] == _REALTIME
    )
    if is_own and entry.kind == "call" and (is_clock or entry.number == Call.GETPID):
        return "it reads a clock or its number"
    if entry.number == Call.GETRANDOM and not _is_renewed(entry):
        return f"{entry.module} draws by chance"
    if entry.number in _OPENS and entry.result >= 0 and not _may_read(entry, roots):
        return f"it reads {entry.text}"
    return ""


def _is_renewed(entry: Entry) -> bool:
    count, flags = entry.arguments[1:]
    top = entry.module.partition(".")[0]
    is_of_library = (count, flags) == _NAME_OF_FILE
    return count == _SEED_BYTES or is_of_library or (count, top) in _RENEWED


def _may_read(entry: Entry, roots: Sequence[Path]) -> bool:
    path = entry.text
    if path.startswith("/dev/"):
        return path.startswith(_DEVICES)
    is_code = path.endswith(_CODE) or path.startswith(_SYSTEM)
    inside = any(Path(path).is_relative_to(root) for root in roots)
    return entry.module != _MAIN or is_code or inside or Path(path).is_dir()
