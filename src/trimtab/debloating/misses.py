"""Add misses of slim environments to the used code: missed, learned and traced use are united."""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from trimtab.binaries.elf.functions import read_functions
from trimtab.binaries.elf.headers import SHF_EXECINSTR
from trimtab.binaries.elf.names import FunctionNames, function_names
from trimtab.binaries.elf.reader import Elf, read_elf, read_loaded
from trimtab.binaries.rewriting.start_up import section_at
from trimtab.errors import UserError
from trimtab.files import sha256_of
from trimtab.records.misses.learned import LearnedCode, LearnedLibrary
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.removed_files import MissedFile
from trimtab.records.usage import Usage, UsedLibrary


def with_misses(usages: Sequence[Usage], root: Path, misses: Iterable[RemovedCall]) -> list[Usage]:
    """Return `usages` with the misses of the environment at `root` added as used.

    An address in a function counts as that function, any other as data. Each library's misses go to
    the first of `usages` that has it; libraries that none has are left out.
    """
    missed: dict[str, set[int]] = defaultdict(set)
    for miss in misses:
        # The real path: the library may be a link out of the environment.
        missed[str((root / miss.library).resolve())].add(miss.address)
    changed = []
    for usage in usages:
        libraries = [_with(each, missed.pop(each.path, set())) for each in usage.libraries]
        changed.append(usage.model_copy(update={"libraries": libraries}))
    return changed


def _with(library: UsedLibrary, addresses: set[int]) -> UsedLibrary:
    if not addresses:
        return library
    functions = read_functions(read_elf(Path(library.path)))
    address = np.array(sorted(addresses), np.int64)
    start, size = functions.start.astype(np.int64), functions.size.astype(np.int64)
    at = np.searchsorted(start, address, "right") - 1
    inside = at >= 0
    inside[inside] = address[inside] < (start + size)[at[inside]]
    used = sorted({*library.used_functions, *start[at[inside]].tolist()})
    data = sorted({*library.used_data, *address[~inside].tolist()})
    return replace(
        library,
        used_functions=used,
        functions_used=len(used),
        functions_total=max(library.functions_total, len(used)),  # 0 where no run loaded it
        used_data=data,
    )


def named(misses: Iterable[RemovedCall], root: Path) -> list[RemovedCall]:
    """Return `misses` of the environment at `root`, those without a name with a place.

    The place is the function of the original before it; for data, the section.
    """
    names: dict[str, FunctionNames] = {}
    result = []
    for miss in misses:
        if not miss.name and miss.library not in names and (root / miss.library).is_file():
            names[miss.library] = function_names(read_loaded(root / miss.library)[0])
        known = None if miss.name else names.get(miss.library)
        result.append(miss if known is None else _placed(miss, known))
    return result


def _placed(miss: RemovedCall, names: FunctionNames) -> RemovedCall:
    section = section_at(names.elf, miss.address)
    if section is None:
        return miss
    if section.flags & SHF_EXECINSTR:
        behind, distance = names.before(miss.address) or ("", 0)
    else:
        behind, distance = section.name, miss.address - section.address
    return replace(miss, behind=behind, behind_bytes=distance)


def learned_misses(path: Path, root: Path) -> list[RemovedCall]:
    """Return the misses in `learned.json` at `path` of the unchanged libraries below `root`.

    Without the file nothing was learned.
    """
    if not path.exists():
        return []
    return [
        miss
        for name, library in LearnedCode.read(path).libraries.items()
        if _is_at(root / name, library)
        for miss in library.misses
    ]


def learned_files(path: Path, root: Path) -> list[str]:
    """Return the files below `root` that were missed, from `learned.json` at `path`.

    Without the file nothing was learned. Files that no longer exist are left out.
    """
    if not path.exists():
        return []
    files = LearnedCode.read(path).files
    return [file.path for file in files if os.path.lexists(root / file.path)]


def check_recorded_in(root: Path, libraries: Iterable[str]) -> None:
    """Raise UserError for a library that the environment at `root` lacks."""
    for name in libraries:
        if not (root / name).is_file():
            raise UserError(f"{root / name}: missing; was this recorded in another environment?")


def check_files_recorded_in(root: Path, names: Iterable[str]) -> None:
    """Raise UserError for a file, link or folder that the environment at `root` lacks."""
    for name in names:
        if not os.path.lexists(root / name):
            raise UserError(f"{root / name}: missing; was this recorded in another environment?")


def learn(
    path: Path,
    target: str,
    root: Path,
    misses: Iterable[RemovedCall],
    files: Iterable[MissedFile] = (),
) -> int:
    """Add misses of the environment at `root` to `learned.json` at `path`; return how many are new.

    Raises as `learned_with` does.
    """
    learned, added = learned_with(path, target, root, misses, files)
    learned.write(path)
    return added


def learned_with(
    path: Path,
    target: str,
    root: Path,
    misses: Iterable[RemovedCall],
    files: Iterable[MissedFile] = (),
) -> tuple[LearnedCode, int]:
    """Return `learned.json` at `path` with the misses added, and how many of these are new.

    Raises UserError for a library, an address or a file that the environment at `root` lacks, and
    TrimtabError if the document gets too large to be read.
    """
    before = LearnedCode.read(path) if path.exists() else None
    kept = before.libraries if before else {}
    by_library: dict[str, dict[int, RemovedCall]] = defaultdict(dict)
    for miss in misses:
        by_library[miss.library][miss.address] = miss
    libraries, added = dict(kept), 0
    check_recorded_in(root, by_library)
    for name, new in by_library.items():
        elf = _recorded(root / name, new)
        known: dict[int, RemovedCall] = {}
        if name in kept and _is_at(root / name, kept[name]):
            known = {miss.address: miss for miss in kept[name].misses}
        added += len(new.keys() - known.keys())
        every = [miss for _, miss in sorted((new | known).items())]
        libraries[name] = LearnedLibrary(
            elf.build_id, elf.size_bytes, sha256_of(root / name), every
        )
    known_files = {file.path: file for file in before.files} if before else {}
    new_files = {file.path: file for file in files if file.path not in known_files}
    check_files_recorded_in(root, new_files)
    every_file = [file for _, file in sorted((known_files | new_files).items())]
    added += len(new_files)
    learned = LearnedCode(target=target, libraries=libraries, files=every_file)
    learned.text_for(path)
    return learned, added


def _recorded(path: Path, addresses: Iterable[int]) -> Elf:
    """Return the library that an untrusted record names, after a check of the addresses."""
    elf = read_elf(path)
    address = np.array(sorted(addresses), np.int64)
    outside = address[elf.offsets_of(address) < 0]
    if outside.size:
        raise UserError(
            f"{path}: holds no address {int(outside[0]):#x}; was this recorded in another"
            " environment?"
        )
    return elf


def _is_at(path: Path, library: LearnedLibrary) -> bool:
    return path.is_file() and sha256_of(path) == library.sha256
