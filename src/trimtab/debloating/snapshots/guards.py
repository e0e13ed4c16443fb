"""What has to be as it was for a start to go on from a snapshot.

A text of guards is a list of texts that end with a zero byte. The first letter says what the rest
is; `native/file_fallback/snapshot_guards.c` compares them:

    =  the image, whose guards follow      x  sys.executable
    w  a word of the command, in order     a  there are no others
    u  users, groups, ignored and blocked signals
    b  the process's name                  p  how many modules Python has, and sys.path
    m  processor and kernel                d  the working directory
    e  a variable NAME=VALUE               n  a variable that is not set
    s  all variables that steer Python, C libraries and the linker are among those above
    E  how many variables there are, without a shell's own
    h  the system: NODE RELEASE VERSION    q  the processors the process may use
    r  a limit: RESOURCE SOFT HARD         f  a file: SIZE SECONDS NANOSECONDS PATH
    k  a folder                            v  a path that exists
    g  modules a folder may have: DIGEST PATH; G: all its names
    l  a path that does not exist          c  a file's content: DIGITS PATH
    t  a standard stream, no terminal      .  all of them hold
"""

import os
import re
import resource
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from posixpath import isabs, join, lexists, normpath

from trimtab.debloating.snapshots.log import ALL, OPENS, Call, Entry, asked

_STEERING = (
    "PYTHON", "LD_", "GLIBC_", "MALLOC_", "TRIMTAB_", "LC_", "LANG",
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "TQDM_",
    "TORCH", "PYTORCH_", "CUDA_", "NETWORKX_",
)  # fmt: skip
_RENEWED = "PYTHONUNBUFFERED"  # by which streams are made again (renewing.py)
# Which the C library asks for without getenv.
_C_LIBRARY = (
    "TZ", "TZDIR", "LOCPATH", "NLSPATH", "GCONV_PATH", "OUTPUT_CHARSET", "POSIXLY_CORRECT",
    "TMPDIR", "HOME", "LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES",
)  # fmt: skip
_OF_SHELL = ("_", "SHLVL", "PWD", "OLDPWD")  # which it changes by itself
_TIME_ZONE = "/etc/localtime"
_LOOKS = {
    Call.STAT, Call.LSTAT, Call.ACCESS, Call.NEWFSTATAT, Call.STATX, Call.FACCESSAT,
    Call.FACCESSAT2, Call.READLINK, Call.READLINKAT, Call.OPEN, Call.OPENAT, Call.OPENAT2,
    Call.MKDIR, Call.CONNECT,
}  # fmt: skip
_LISTS = {Call.GETDENTS, Call.GETDENTS64}
_MISSING = (-2, -20)  # ENOENT, ENOTDIR
_KERNEL = ("/proc/", "/sys/", "/dev/")
_PROCESS = r"/proc/(self|thread-self|\d+)(/|$)"
_OURS = ("/trimtab/fallback.jsonl", "/00_trimtab_fallback.pth")  # saving.py changes the latter
# Folders that change although what a program finds there does not.
_CHANGING = ("trimtab", "__pycache__")
_MODULES = (".py", ".pyc", ".so", "-info", ".egg")
# They list folders for packages alone.
_FIND_PACKAGES = (
    "importlib",
    "importlib_metadata",
    "pkg_resources",
    "pkgutil",
    "setuptools",
    "zipp",
)
_BYTE_CODE = "/__pycache__/"  # of sources, which are compared
_LARGEST_CONTENT = 4095
_FNV_BASIS, _FNV_PRIME, _64_BITS = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


class ChangedError(Exception):
    """A file changed while the start was saved: its text says which."""


def is_steering(name: str) -> bool:
    """Return whether a variable steers Python, C libraries or the dynamic linker."""
    return (name.startswith(_STEERING) and name != _RENEWED) or name in _C_LIBRARY


def guards(
    image: str,
    saved: Sequence[Entry],
    recorded: Sequence[Entry],
    words: Sequence[bytes | None],
    variables: Mapping[str, str],
    roots: Sequence[Path],
    since_ns: int,
) -> bytes:
    """Return the guards of the snapshot in the file `image` as bytes.

    `saved` is what the saved process did up to its point, from `since_ns` on, and `recorded` what
    one did that was watched; `words` are the command as far as it is compared, None at its end if
    there may be no more, and `variables` its environment. `roots` are folders in which nothing is
    added or removed without a change of the folder's time.

    Raises ChangedError if a file changed since.
    """
    notes = {entry.words[0]: " ".join(entry.words[1:]) for entry in saved if entry.kind == "note"}
    names = asked(recorded)
    lines = [f"={image}"]
    lines += ["a" if word is None else f"w{os.fsdecode(word)}" for word in words[1:]]
    ids = f"{os.getuid()} {os.geteuid()} {os.getgid()} {os.getegid()}"
    lines += [f"u{ids} {notes['signals']}", f"x{notes['executable']}", f"b{notes['name']}"]
    lines += [f"m{notes['machine']}", f"p{notes['path']}"]
    variables = {**variables, **({"LC_CTYPE": notes["locale"]} if notes["locale"] else {})}
    of_all = [name for name in variables if name not in _OF_SHELL] if ALL in names else []
    names = names - {ALL} | {*_C_LIBRARY} | {*filter(is_steering, variables)} | {*of_all}
    lines += [
        f"e{name}={variables[name]}" if name in variables else f"n{name}" for name in sorted(names)
    ]
    lines += [f"E{len(of_all)}"] if of_all else []
    lines.append("s")
    found = _Found(saved, recorded, roots, notes["here"], since_ns)
    seen = {*found.of_calls(), *found.before_recording(variables)}
    lines += sorted(seen, key=lambda line: _ORDER.index(line[0]))
    return b"".join(os.fsencode(line) + b"\0" for line in (*lines, "."))


_ORDER = "tdhqrcklvgGf"


class _Found:
    """What a saved start asked of files and of the kernel."""

    def __init__(
        self,
        saved: Sequence[Entry],
        recorded: Sequence[Entry],
        roots: Sequence[Path],
        here: str,
        since_ns: int,
    ) -> None:
        self.saved, self.roots, self.here, self.since_ns = saved, roots, here, since_ns
        self.made = {
            entry.text
            for entry in saved
            if (entry.number in OPENS and entry.arguments[2] & 0o300 == 0o300)
            or entry.number in (Call.LINK, Call.UNLINK, Call.UNLINKAT)
        }
        self.listed = {self._path(entry.text) for entry in saved if entry.number in _LISTS}
        self.listed_whole = {
            " ".join(entry.words[2:])
            for entry in recorded
            if entry.words[:1] == ("lists",)
            and entry.words[1].partition(".")[0] not in _FIND_PACKAGES
        }

    def _is_path(self, text: str) -> bool:
        """Whether a text is a path of others: open files are named too, as `pipe:[1]`."""
        is_open_file = re.match(r"\w+:\[", text) or text.endswith(" (deleted)")
        return bool(text) and not is_open_file and text not in self.made

    def _path(self, text: str) -> str:
        path = join(self.here, text)
        return path if ".." in text else normpath(path)

    def before_recording(self, variables: Mapping[str, str]) -> Iterator[str]:
        """Yield guards of what Python read before it was recorded."""
        files = [" ".join(entry.words[2:]) for entry in self.saved if entry.words[:1] == ("file",)]
        for path in (*files, *(f"{root}/pyvenv.cfg" for root in self.roots), _TIME_ZONE):
            if isabs(path):
                yield from self._of_file(path) if Path(path).exists() else (f"l{path}",)
        folders = variables.get("PYTHONPATH", "")
        if folders and not all(map(isabs, folders.split(":"))):
            yield f"d{self.here}"

    def of_calls(self) -> Iterator[str]:
        """Yield guards of the system calls."""
        processors = (e.text for e in self.saved if e.number == Call.SCHED_GETAFFINITY and e.text)
        yield from (f"q{text}" for text in [*processors][:1])  # later, it may have changed them
        for entry in self.saved:
            if entry.kind != "call":
                continue
            if entry.number == Call.UNAME:
                yield f"h{entry.text}"
            elif entry.number == Call.PRLIMIT64:
                soft, hard = resource.getrlimit(entry.arguments[1])
                yield f"r{entry.arguments[1]} {soft & _64_BITS} {hard & _64_BITS}"
            elif entry.number == Call.IOCTL and 0 <= entry.arguments[0] < 3:
                yield f"t{entry.arguments[0]}"
            elif entry.number == Call.GETCWD:
                yield f"d{self.here}"
            elif entry.number in _LOOKS and self._is_path(entry.text):
                if not entry.text.startswith("/"):
                    yield f"d{self.here}"
                yield from self._of_look(self._path(entry.text), entry)

    def _of_look(self, path: str, entry: Entry) -> Iterator[str]:
        if path.endswith(_OURS) or re.match(_PROCESS, path) or _BYTE_CODE in path:
            return
        if entry.result in _MISSING:
            if not lexists(path):
                yield f"l{path}"
        elif entry.result >= 0 and path.startswith(_KERNEL):
            is_read = entry.number in OPENS and path.startswith(("/sys/", "/proc/sys/"))
            yield from _content(path) if is_read else (f"v{path}",)
        elif entry.result >= 0 or entry.number == Call.MKDIR:  # the folder was there
            yield from self._of_file(path)

    def _of_file(self, path: str) -> Iterator[str]:
        status = Path(path).stat()
        seconds, nanoseconds = divmod(status.st_mtime_ns, 10**9)
        is_folder = stat.S_ISDIR(status.st_mode)
        inside = any(map(Path(path).is_relative_to, self.roots))
        if is_folder and not (inside and Path(path).name not in _CHANGING):
            if path in self.listed_whole:
                yield f"G{digest_of_names(path, is_whole=True)} {path}"
            elif path in self.listed:
                yield f"g{digest_of_names(path, is_whole=False)} {path}"
            else:
                yield f"k{path}"
            return
        if not is_folder and status.st_mtime_ns >= self.since_ns:
            raise ChangedError(f"{path} changed meanwhile")
        yield f"f{status.st_size} {seconds} {nanoseconds} {path}"


def _content(path: str) -> Iterator[str]:
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST_CONTENT + 1)
    except OSError:
        return
    if len(content) <= _LARGEST_CONTENT:
        yield f"c{content.hex()} {path}"


def digest_of_names(folder: str, *, is_whole: bool) -> int:
    """Return a digest of the names in a folder, in any order; of those that may be modules."""
    total = 0
    for name in os.listdir(folder):
        if is_whole or (("." not in name or name.endswith(_MODULES)) and name != "__pycache__"):
            digest = _FNV_BASIS
            for byte in os.fsencode(name):
                digest = (digest ^ byte) * _FNV_PRIME & _64_BITS
            total = total + digest & _64_BITS
    return total
