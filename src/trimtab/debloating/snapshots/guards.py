"""What has to be as it was for a start to go on from a snapshot.

A text of guards is a list of texts that end with a zero byte. The first letter says what the rest is;
`native/file_fallback/snapshot_start.c` reads them:

    =  the image, whose guards follow      x  sys.executable
    w  a word of the command, in order     u  users, groups and ignored signals
    m  processor and kernel                d  the working directory
    e  a variable NAME=VALUE               n  a variable that is not set
    s  all variables that steer Python, the C library and the linker are among those above
    h  the machine's name                  q  the processors the process may use
    r  a limit: RESOURCE SOFT HARD         f  a file: SIZE SECONDS NANOSECONDS PATH
    k  a folder                            g  modules a folder may have: DIGEST PATH
    l  a path that does not exist          c  a file's content: DIGITS PATH
    .  all of them hold
"""

import os
import resource
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trimtab.debloating.snapshots.log import Call, Entry

_STEERING = ("PYTHON", "LD_", "GLIBC_", "MALLOC_", "TRIMTAB_", "LC_", "LANG")
_C_LIBRARY = ("TZ", "LOCPATH", "NLSPATH", "TMPDIR", "HOME")  # which it asks for without getenv
_LOOKS = {
    Call.STAT, Call.LSTAT, Call.ACCESS, Call.NEWFSTATAT, Call.STATX, Call.FACCESSAT, Call.FACCESSAT2,
    Call.READLINK, Call.READLINKAT, Call.OPEN, Call.OPENAT, Call.OPENAT2,
}  # fmt: skip
_OPENS = {Call.OPEN, Call.OPENAT, Call.OPENAT2}
_LISTS = {Call.GETDENTS, Call.GETDENTS64}
_MISSING = (-2, -20)  # ENOENT, ENOTDIR
_KERNEL = ("/proc/", "/sys/", "/dev/")
_OURS = "/trimtab/fallback.jsonl"
_MODULES = (".py", ".pyc", ".so")
_LARGEST_CONTENT = 4095
_FNV_BASIS, _FNV_PRIME, _64_BITS = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def guards(
    log: Sequence[Entry],
    command: Sequence[str],
    variables: Mapping[str, str],
    asked: frozenset[str],
    roots: Sequence[Path],
    image: str = "image",
) -> bytes:
    """Return the guards of the snapshot `image` as bytes.

    `log` is what the saved process did up to its point; `command` its words and `variables` its
    environment; `asked` the variables that it asked for. `roots` are folders in which nothing is
    added or removed without a change of the folder's time.
    """
    notes = {entry.words[0]: entry.words[1:] for entry in log if entry.kind == "note"}
    here = " ".join(notes["here"])
    words = command[1 : int(notes["words"][0])]
    lines = [f"={image}", *(f"w{word}" for word in words)]
    ids = f"{os.getuid()} {os.geteuid()} {os.getgid()} {os.getegid()}"
    lines.append(f"u{ids} {notes['ignored'][0]}")
    lines.append("x" + " ".join(notes["executable"]))
    lines.append("m" + notes["machine"][0])
    names = asked | {*_C_LIBRARY} | {name for name in variables if name.startswith(_STEERING)}
    lines += [
        f"e{name}={variables[name]}" if name in variables else f"n{name}" for name in sorted(names)
    ]
    lines.append("s")
    lines += sorted(set(_of_calls(log, here, roots)), key=lambda line: _ORDER.index(line[0]))
    return "".join(f"{line}\0" for line in (*lines, ".")).encode("utf-8", "surrogateescape")


_ORDER = "dhqrcklgf"


def _of_calls(log: Sequence[Entry], here: str, roots: Sequence[Path]) -> Iterator[str]:
    made = {entry.text for entry in log if entry.number in _OPENS and entry.arguments[2] & 0o300 == 0o300}
    made |= {entry.text for entry in log if entry.number in (Call.LINK, Call.UNLINK)}
    listed = {os.path.join(here, entry.text) for entry in log if entry.number in _LISTS}
    for entry in log:
        if entry.kind != "call":
            continue
        if entry.number == Call.UNAME:
            yield f"h{entry.text}"
        elif entry.number == Call.SCHED_GETAFFINITY and entry.text:
            yield f"q{entry.text}"
        elif entry.number == Call.PRLIMIT64:
            soft, hard = resource.getrlimit(entry.arguments[1])
            yield f"r{entry.arguments[1]} {soft & _64_BITS} {hard & _64_BITS}"
        elif entry.number == Call.GETCWD:
            yield f"d{here}"
        elif entry.number in _LOOKS and entry.text and entry.text not in made:
            if not entry.text.startswith("/"):
                yield f"d{here}"
            path = os.path.normpath(os.path.join(here, entry.text)) if ".." not in entry.text else os.path.join(here, entry.text)
            yield from _of_path(path, entry, path in listed, roots)


def _of_path(path: str, entry: Entry, is_listed: bool, roots: Sequence[Path]) -> Iterator[str]:
    if path.endswith(_OURS):
        return
    if path.startswith(_KERNEL):
        if entry.number in _OPENS and path.startswith(("/sys/", "/proc/sys/")):
            yield from _content(path)
        return
    if entry.result in _MISSING:
        if not os.path.lexists(path):
            yield f"l{path}"
        return
    if entry.result < 0:
        return
    status = os.stat(path)
    inside = any(Path(path).is_relative_to(root) for root in roots)
    if stat.S_ISDIR(status.st_mode) and not (is_listed and inside):
        yield f"g{_names(path)} {path}" if is_listed else f"k{path}"
        return
    seconds, nanoseconds = divmod(status.st_mtime_ns, 10**9)
    yield f"f{status.st_size} {seconds} {nanoseconds} {path}"


def _content(path: str) -> Iterator[str]:
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST_CONTENT + 1)
    except OSError:
        return
    if len(content) <= _LARGEST_CONTENT:
        yield f"c{content.hex()} {path}"


def _names(folder: str) -> int:
    """Return a digest of the names in a folder that may be modules, in any order."""
    total = 0
    for name in os.listdir(folder):
        if ("." not in name or name.endswith(_MODULES)) and name != "__pycache__":
            digest = _FNV_BASIS
            for byte in os.fsencode(name):
                digest = (digest ^ byte) * _FNV_PRIME & _64_BITS
            total = total + digest & _64_BITS
    return total
