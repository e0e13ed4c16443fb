"""What a start asked of the world, as `native/snapshot/record.c` and `inside_program` wrote it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

VARIABLES = "/proc/self/environ"
ALL = "*"  # a start asks for all variables
# They look for their own among all variables, which are compared (guards.py), or have all anew
# (renewing.py).
_LOOK_FOR_THEIRS = {"torch", "tqdm", "networkx", "wsgiref"}


class Call(IntEnum):
    """System calls of x86-64 that matter here, by number (asm/unistd_64.h)."""

    OPEN = 2
    STAT = 4
    FSTAT = 5
    LSTAT = 6
    LSEEK = 8
    ACCESS = 21
    IOCTL = 16
    GETPID = 39
    CONNECT = 42
    UNAME = 63
    GETDENTS = 78
    GETCWD = 79
    MKDIR = 83
    LINK = 86
    UNLINK = 87
    READLINK = 89
    GETTIMEOFDAY = 96
    GETRUSAGE = 98
    SYSINFO = 99
    TIMES = 100
    GETPPID = 110
    GETGROUPS = 115
    STATFS = 137
    GETTID = 186
    TIME = 201
    SCHED_GETAFFINITY = 204
    GETDENTS64 = 217
    CLOCK_GETTIME = 228
    OPENAT = 257
    NEWFSTATAT = 262
    UNLINKAT = 263
    READLINKAT = 267
    FACCESSAT = 269
    PRLIMIT64 = 302
    GETRANDOM = 318
    STATX = 332
    OPENAT2 = 437
    FACCESSAT2 = 439


OPENS = {Call.OPEN, Call.OPENAT, Call.OPENAT2}
_NEW = 0o300  # O_CREAT | O_EXCL


@dataclass(frozen=True)
class Entry:
    """A line of the log: a system call with its result and first arguments, or a note.

    `words` are what a note says; `text` is a call's path or other text. `module` is the one whose
    code ran: the one that was being imported, or __main__.
    """

    kind: str  # call, harmful or note
    number: int = 0
    result: int = 0
    arguments: tuple[int, int, int] = (0, 0, 0)
    text: str = ""
    words: tuple[str, ...] = ()
    module: str = ""


def entries(path: Path) -> list[Entry]:
    """Return the log at `path`, in order.

    Raises OSError if there is none.
    """
    return list(_entries(path.read_bytes()))


def _entries(log: bytes) -> Iterator[Entry]:
    importing = ["__main__"]
    for line in log.split(b"\0")[:-1]:
        kind, _, rest = line.decode("utf-8", "surrogateescape").partition(" ")
        if kind == "note":
            words = tuple(rest.split(" "))
            if words[0] == "begin":
                importing.append(_imported(words[1], words[2]))
            elif words[0] in ("end", "failed") and len(importing) > 1:
                importing.pop()
            yield Entry(kind, words=words, module=importing[-1])
        elif kind == "call":
            number, result, first, second, third, text = rest.split(" ", 5)
            arguments = (int(first), int(second), int(third))
            yield Entry(kind, int(number), int(result), arguments, text, module=importing[-1])
        else:
            number, _, _, _, text = rest.split(" ", 4)
            yield Entry(kind, int(number), text=text, module=importing[-1])


def made_files(log: Iterable[Entry]) -> set[str]:
    """Return the files that a process made, and did not remove, as it named them."""
    made = set[str]()
    for entry in log:
        is_new = entry.number in OPENS and entry.arguments[2] & _NEW == _NEW
        if (is_new or entry.number == Call.LINK) and entry.result >= 0:
            made.add(entry.text)
        elif entry.number in (Call.UNLINK, Call.UNLINKAT):
            made.discard(entry.text)
    return made


def own_modules(log: Sequence[Entry], roots: Sequence[Path]) -> dict[str, str]:
    """Return the files of the modules that belong to the program, by their names without a dot:
    __main__, and those in no folder of libraries, which are below the environments `roots`.
    """
    libraries = [root / below for root in roots for below in ("lib", "lib64", "local")]
    own = {"__main__": ""}
    for entry in log:
        if entry.words[:1] == ("file",):
            file = " ".join(entry.words[2:])
            is_library = any(map(Path(file).is_relative_to, libraries))
            if entry.words[1] == "__main__" or (Path(file).is_absolute() and not is_library):
                own[entry.words[1].partition(".")[0]] = file
    return own


def _imported(importer: str, asked: str) -> str:
    """Return the name of the module that an import statement asks for, as far as it says it."""
    name, _, _ = asked.partition(":")
    below = name.lstrip(".")
    if below == name:
        return name
    return f"{importer}.{below}" if below else importer


def asked(log: Sequence[Entry]) -> set[str]:
    """Return the variables that a start asked for; with ALL among them, every one."""
    names = set[str]()
    for entry in log:
        if entry.words == ("asks", ALL) or (entry.text == VARIABLES and entry.result >= 0):
            if entry.module.partition(".")[0] not in _LOOK_FOR_THEIRS:
                names.add(ALL)
        elif entry.words[:1] == ("asks",):
            names.add(" ".join(entry.words[1:]))
    return names
