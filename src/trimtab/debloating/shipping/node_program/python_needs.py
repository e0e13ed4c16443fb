"""What modules of Python need to run on a machine that has nothing: found by loading them here."""

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.errors import ElfError
from trimtab.debloating.shipping.node_program import recording
from trimtab.errors import TrimtabError

# Python imports these by names that it makes.
_ENCODINGS = tuple(f"encodings.{name}" for name in ("ascii", "idna", "latin_1", "utf_8"))
# The server cannot do without these, and a Python may be built without them.
_MODULES = ["_socket", "_ssl", "select", "zlib"]
# Opened by name: by glibc when a thread ends, and by older ones for host names.
_LIBRARIES = ["libgcc_s.so.1"]
_GLIBC = platform.libc_ver()[1] or "0"
if tuple(map(int, _GLIBC.split(".")[:2])) < (2, 34):
    _LIBRARIES += ["libnss_files.so.2", "libnss_dns.so.2"]
# Found by name, too: trimtab.cold_store.node.zstd.
if sys.version_info >= (3, 14):
    _MODULES += ["compression.zstd"]
else:
    _LIBRARIES += ["libzstd.so.1"]
_LOADER = "ld-linux-x86-64.so.2"
_FOR_LOADING = ("LD_LIBRARY_PATH", "PATH")


@dataclass(frozen=True)
class PythonNeeds:
    """The files that Python needs to run some modules.

    `sources` and `compiled` are those of modules, by their names. `libraries` are in no order.
    """

    loader: Elf
    program: Elf
    libraries: list[Elf]
    compiled: dict[str, Elf]
    sources: dict[str, Path]


def needs_of(folder: Path, modules: list[str]) -> PythonNeeds:
    """Return what the `modules` in `folder` need of the Python that runs trimtab.

    Raises TrimtabError if it was built without what they need, or not with glibc.
    """
    python = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    try:
        program = read_elf(python)
        if program.interpreter is None or Path(program.interpreter).name != _LOADER:
            raise TrimtabError(
                f"{python}: its dynamic linker is {program.interpreter or 'missing'}; a static"
                f" program needs a Python whose linker is glibc's, {_LOADER}"
            )
        found = _recorded(python, folder, [*modules, *_ENCODINGS, *_MODULES])
        compiled = {name: read_elf(Path(path)) for name, path in found["compiled"].items()}
        mapped = [read_elf(Path(path)) for path in found["mapped"]]
        by_name = {each.soname or each.path.name: each for each in mapped}
        names = _closed([program, *compiled.values()], by_name)
        libraries = [by_name[name] for name in sorted(names - {_LOADER})]
        loader = read_elf(Path(program.interpreter).resolve())
    except ElfError as error:
        raise TrimtabError(f"{error}; install Python again") from None
    sources = {name: Path(path) for name, path in found["sources"].items()}
    return PythonNeeds(loader, program, libraries, compiled, sources)


def _recorded(python: Path, folder: Path, names: list[str]) -> Mapping[str, Any]:
    words = [str(python), "-I", "-S", "-B", recording.__file__]
    words += [str(folder), " ".join(names), " ".join(_LIBRARIES)]
    kept = {name: os.environ[name] for name in _FOR_LOADING if name in os.environ}
    done = subprocess.run(words, capture_output=True, text=True, env=kept)
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        raise TrimtabError(f"{python}: cannot list its modules: {last}; install Python again")
    found: dict[str, Any] = json.loads(done.stdout)
    for name in (*names, *_LIBRARIES):
        if name in found["missing"]:
            raise TrimtabError(
                f"{python}: {name} is missing ({found['missing'][name]}); use another Python, or"
                " write the server with `trimtab cold-store file`"
            )
    return found


def _closed(users: list[Elf], by_name: Mapping[str, Elf]) -> set[str]:
    """Return the names of all libraries that `users` need, directly or not."""
    names = set(_LIBRARIES)
    waiting = [*users, *(by_name[name] for name in _LIBRARIES)]
    while waiting:
        for name in waiting.pop().needed:
            if name not in names and name in by_name:
                names.add(name)
                waiting.append(by_name[name])
    return names
