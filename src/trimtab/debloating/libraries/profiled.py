"""The shared libraries of an environment, and the used parts of each."""

import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.reader import Elf, read_elf, read_loaded
from trimtab.binaries.errors import ElfError, UnreadableError
from trimtab.debloating.copies.layout import EnvironmentLayout
from trimtab.errors import UserError
from trimtab.files import sha256_of, sha256_of_all
from trimtab.profiling.tracing.function_records import LEFT_ALONE, NO_FUNCTIONS
from trimtab.records.usage import Usage, UsedLibrary

_LIBRARY = re.compile(r"\.so(\.\d+)*$")  # no split-off debugging information


@dataclass(frozen=True)
class ProfiledLibrary:
    """A library of a target, with the functions that any of its workloads used.

    `name` is its path in the target, `sha256` the digest when it was profiled. `used` are ELF
    addresses of functions, `used_data` of data. `why_not` says why all functions are kept, ""
    otherwise. `data_goes`: unread constants may be removed, as a run told which are read, and every
    program that loads the library can restore them. `loaded` is false if no run loaded it.
    `written_wrongly` says what was wrong with its slim library; then it is left unchanged, and so
    it is with `left_alone`.
    """

    name: str
    path: Path
    build_id: str | None
    size_bytes: int
    used: NDArray[np.int64]
    why_not: str
    used_data: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    loaded: bool = True
    sha256: str | None = None
    written_wrongly: str = ""
    data_goes: bool = True
    left_alone: bool = False


def profiled_libraries(
    usages: Iterable[Usage], folder: Path, own: Iterable[str] = ()
) -> list[ProfiledLibrary]:
    """Return the libraries below `folder` that the workloads loaded, by name.

    Folders that match `own` belong to it even if they are links out of it.

    A library outside is included, by the link's name, if a link below `folder` leads to it. The use
    of several workloads is united. Executables are left out. Raises UserError if two records
    disagree about a file, or if the file was changed since.
    """
    layout = EnvironmentLayout.of(folder, own)
    linked = _linked_libraries(layout)
    by_path: dict[str, list[UsedLibrary]] = {}
    for usage in usages:
        for library in usage.libraries:
            if layout.name_of(Path(library.path)) is not None or library.path in linked:
                by_path.setdefault(library.path, []).append(library)
    libraries = (
        _library(Path(path), linked.get(path) or str(layout.name_of(Path(path))), records)
        for path, records in sorted(by_path.items())
    )
    return [library for library in libraries if library is not None]


def _linked_libraries(layout: EnvironmentLayout) -> dict[str, str]:
    """Return the files outside to which links inside lead, with the names of the links.

    Some installers link a package's files into their cache.
    """
    linked: dict[str, str] = {}
    for entry in layout.entries():
        if entry.is_link and ".so" in entry.base:
            target = Path(entry.path).resolve()
            if target.is_file() and layout.name_of(target) is None:
                linked.setdefault(str(target), entry.name)
    return linked


def _library(path: Path, name: str, records: list[UsedLibrary]) -> ProfiledLibrary | None:
    first = records[0]
    if not path.is_file():
        return None  # made and deleted by the run
    elf, _ = read_loaded(path)
    if elf.interpreter is not None:
        return None
    for record in records:
        known_as = (record.build_id, record.size_bytes, record.sha256)
        if known_as != (elf.build_id, elf.size_bytes, first.sha256):
            raise changed_since(path)
    used = [np.array(record.used_functions, np.int64) for record in records]
    data = [np.array(record.used_data, np.int64) for record in records]
    return ProfiledLibrary(
        name=name,
        path=path,
        build_id=first.build_id,
        size_bytes=first.size_bytes,
        sha256=first.sha256,
        used=np.unique(np.concatenate(used)),
        why_not=next((r.not_traced_because for r in records if not r.traced), ""),
        used_data=np.unique(np.concatenate(data)),
        left_alone=any(r.not_traced_because == LEFT_ALONE for r in records),
        data_goes=all(r.traced or r.not_traced_because == NO_FUNCTIONS for r in records),
    )


def check_unchanged(library: ProfiledLibrary) -> None:
    """Raise UserError unless the library's file is, to the byte, the profiled one."""
    if sha256_of(library.path) != library.sha256:
        raise changed_since(library.path)


def changed_since(path: Path) -> UserError:
    """Return the error for a library that was changed since it was profiled."""
    return UserError(f"{path}: not the file that was profiled; profile the workload again")


def with_digests(libraries: Iterable[UsedLibrary]) -> list[UsedLibrary]:
    """Return records of libraries with the current SHA-256 of their files."""
    every = list(libraries)
    digests = sha256_of_all(Path(library.path) for library in every)
    return [replace(library, sha256=digests[Path(library.path)]) for library in every]


def untraced_libraries(folder: Path) -> list[UsedLibrary]:
    """Return all shared libraries below `folder`, as of a run without any trace."""
    return with_digests(
        _unused(path, elf, "no program was traced") for path, elf in _libraries_below(folder)
    )


def unloaded_libraries(folder: Path, usages: Iterable[Usage]) -> list[UsedLibrary]:
    """Return the shared libraries below `folder` that no run loaded, with nothing used.

    They get no digests.
    """
    loaded: set[str | None] = set()
    for usage in usages:
        loaded |= {library.path for library in usage.libraries}
        loaded |= {file.real_path for file in usage.files if "map_execute" in file.uses}
    return [
        _unused(path, elf)
        for path, elf in _libraries_below(folder)
        if str(path) not in loaded and elf.interpreter is None and _LIBRARY.search(path.name)
    ]


def _libraries_below(folder: Path) -> Iterator[tuple[Path, Elf]]:
    for entry in EnvironmentLayout.of(folder.resolve()).entries():
        if ".so" in entry.base and stat.S_ISREG(entry.status.st_mode):
            try:
                elf = read_elf(Path(entry.path))
            except UnreadableError:
                raise
            except ElfError:
                continue  # linker scripts and libraries for other machines
            yield elf.path, elf


def _unused(path: Path, elf: Elf, not_traced_because: str = "") -> UsedLibrary:
    return UsedLibrary(
        path=str(path), build_id=elf.build_id, size_bytes=elf.size_bytes,
        sha256=None, traced=not not_traced_because, not_traced_because=not_traced_because,
        functions_total=0, functions_used=0,
    )  # fmt: skip
