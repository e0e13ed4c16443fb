"""The fallback for files: what a slim environment needs to restore removed files on demand.

The library `native/file_fallback` runs in the program. An index lists the removed files with all
their attributes. Contents are in the original, or in a store of the same layout as for libraries
(`native/fallback/store.h`).
"""

import ctypes
import os
import stat
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TypeVar

import numpy as np

from trimtab.config.groups.debloat import Fallback
from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.fallback import FETCHER, FILE_FALLBACK_LIBRARY, FILE_INDEX, Source
from trimtab.debloating.file_index.layout import DIGEST_BYTES, EntryKind, IndexEntry
from trimtab.debloating.file_index.writing import index_of
from trimtab.debloating.files.closure_rules import ClosureInput, KeptPath
from trimtab.debloating.files.rules.programs import interpreter_of_script, loaded_by_program
from trimtab.debloating.files.tree import FileTree
from trimtab.debloating.store import (
    CHUNK_BYTES,
    LibraryDigests,
    add_to_store,
    pack_into,
    whole_digest_of,
)
from trimtab.errors import UserError
from trimtab.images.node import FileType, Inode
from trimtab.native import native_path

# In the folder of the library and index.
_STATE = "files.state"
_STORE = "store"
# As native/file_fallback/known_sites.h has the table.
_SITES, _SITES_BYTES = b"TRIMTAB SITES 1\0", 16 + 2 * 20 + 2 * 4 + 200 * 4
_ORIGINAL_FOLDER, _IN_STORE = 0, 1
_KINDS = {
    FileType.FILE: EntryKind.REGULAR,
    FileType.LINK: EntryKind.LINK,
    FileType.FOLDER: EntryKind.FOLDER,
}
_MAY_RUN = 0o111
_Done = TypeVar("_Done")
_WORKERS = min(8, len(os.sched_getaffinity(0)))
_LARGE_BYTES = 1 << 20  # larger files are hashed and read in C, which releases Python's lock


def add_file_fallback(
    environment: Path,
    original: Path,
    tree: FileTree,
    removed: Collection[str],
    source: Source,
    variables: Mapping[str, str] | None = None,
) -> None:
    """Add the files to the slim `environment` that its programs need to restore removed files.

    `removed` are paths of `tree`, the folder `original`: files, links, and folders with all their
    content. Devices, pipes and sockets among them are not restored. `variables` has an image's PATH
    and LD_LIBRARY_PATH. Programs have to load FILE_FALLBACK_LIBRARY: by LD_PRELOAD, by
    `/etc/ld.so.preload` of a root file system, or as in PythonPrefix. A fallback for functions, if
    any, has to be added before. Raises UserError if the original was changed meanwhile.
    """
    coming = {path for path in removed if tree.nodes[path].kind in _KINDS}
    needs = _needs(ClosureInput(tree, variables or {}), coming)
    regular = [path for path in sorted(coming) if tree.nodes[path].kind is FileType.FILE]
    with (
        DirectoryHandle.at(environment) as top,
        top.folder(FILE_FALLBACK_LIBRARY.parent, make=True) as ours,
    ):
        digests = dict(zip(regular, _contents(ours, original, regular, source), strict=True))
        names = _names(tree, coming)
        entries = [
            _entry(original, tree.nodes[path], path, digests.get(path), names, needs)
            for path in coming
        ]
        entries += [
            IndexEntry(path[1:], EntryKind.KEPT_PROGRAM, needs=needs[path])
            for path in needs.keys() - coming
        ]
        place = {
            Fallback.ORIGINAL: str(original.resolve()),
            Fallback.PACKED: "",
            Fallback.STORE: source.address or str(source.store),
        }[source.kind]
        kind = _ORIGINAL_FOLDER if source.kind == Fallback.ORIGINAL else _IN_STORE
        leading = _names_that_lead(tree, coming, needs)
        ours.write(FILE_INDEX.name, index_of(entries, kind, place, leading))
        ours.write(_STATE, bytes(len(entries)))
        ours.write(FILE_FALLBACK_LIBRARY.name, _library_for_this_machine(), 0o755)
        ours.write(FETCHER.name, native_path(FETCHER.name).read_bytes(), 0o755)


@cache
def _library_for_this_machine() -> bytes:
    """Return the file fallback, told where this machine's C library has its system calls.

    With another C library it searches for them at each start.
    """
    path = native_path(FILE_FALLBACK_LIBRARY.name)
    library = path.read_bytes()
    at = library.index(_SITES)
    table = ctypes.create_string_buffer(library[at : at + _SITES_BYTES], _SITES_BYTES)
    try:
        found = ctypes.CDLL(str(path)).trimtab_find_sites(table)
    except OSError:  # of another C library, such as musl
        found = False
    return library[:at] + table.raw + library[at + _SITES_BYTES :] if found else library


def store_removed_files(
    original: Path, tree: FileTree, removed: Collection[str], store: Path
) -> None:
    """Store the contents of files in advance for `add_file_fallback`, which finds them there later.

    `removed` are paths of `tree`, the folder `original`. Raises OSError if reading or writing
    fails.
    """
    regular = (path for path in sorted(removed) if tree.nodes[path].kind is FileType.FILE)
    _for_each(
        lambda place: add_to_store(store, place, whole_digest_of(place)),
        [original / path[1:] for path in regular],
    )


def _for_each(do: Callable[[Path], _Done], places: Sequence[Path]) -> list[_Done]:
    """Return the result of `do` for each file: small files in one thread, large ones in several.

    Threads that open, read and write small files wait mostly for Python's lock: two take longer
    than one.
    """
    large = {place for place in places if place.stat().st_size >= _LARGE_BYTES}
    with ThreadPoolExecutor(_WORKERS) as pool:
        waiting = {place: pool.submit(do, place) for place in large}
        done = {place: do(place) for place in places if place not in large}
        return [waiting[place].result() if place in large else done[place] for place in places]


def _contents(
    ours: DirectoryHandle, original: Path, paths: list[str], source: Source
) -> list[LibraryDigests]:
    """Store the contents of files where `source` wants them, each once; return all digests."""
    places = [original / path[1:] for path in paths]
    digests = _for_each(whole_digest_of, places)  # a rebuilt environment has these in its cache
    pairs = sorted(zip(places, digests, strict=True), key=lambda pair: _is_public(pair[0]))
    of_content = {of.sha256: (place, of) for place, of in pairs}  # prefers a public file
    once = dict(of_content.values())
    if source.kind == Fallback.PACKED:
        with ours.folder(_STORE, make=True) as store:

            def pack(place: Path) -> None:
                whole = np.ones(-(-once[place].size_bytes // CHUNK_BYTES), bool)
                mode = 0o644 if _is_public(place) else 0o600
                pack_into(store, place, once[place], whole, mode)

            _for_each(pack, list(once))
    elif source.kind == Fallback.STORE and (store_folder := source.store) is not None:
        _for_each(lambda place: add_to_store(store_folder, place, once[place]), list(once))
    return digests


def _is_public(path: Path) -> bool:
    """Whether everybody may read a file; only then may everybody read its contents in a store."""
    return bool(path.stat().st_mode & stat.S_IROTH)


def _entry(
    original: Path,
    node: Inode,
    path: str,
    digests: LibraryDigests | None,
    names: Mapping[str, tuple[str, ...]],
    needs: Mapping[str, tuple[str, ...]],
) -> IndexEntry:
    status = os.lstat(original / path[1:])
    if digests is not None and (digests.size_bytes, True) != (
        status.st_size,
        stat.S_ISREG(status.st_mode),
    ):
        raise UserError(f"{original / path[1:]}: changed meanwhile; debloat again")
    return IndexEntry(
        path[1:],
        _KINDS[node.kind],
        stat.S_IMODE(status.st_mode),
        status.st_uid,
        status.st_gid,
        status.st_mtime_ns,
        digests.size_bytes if digests is not None else 0,
        digests.sha256[:DIGEST_BYTES] if digests is not None else bytes(DIGEST_BYTES),
        node.target,
        names.get(path, ()),
        needs.get(path, ()),
    )


def _names(tree: FileTree, coming: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the other names of the file of each path in `coming`, sorted."""
    named: dict[Inode, list[str]] = defaultdict(list)
    for path, node in tree.nodes.items():
        if node.kind is FileType.FILE:
            named[node].append(path)
    return {
        path: tuple(sorted(other[1:] for other in of_file if other != path))
        for of_file in named.values()
        for path in of_file
        if path in coming
    }


def _names_that_lead(
    tree: FileTree, coming: Collection[str], programs: Collection[str]
) -> Iterator[str]:
    """Yield the names of kept paths that lead to a removed one."""
    yield from (path.rpartition("/")[2] for path in programs)
    for path, node in tree.nodes.items():
        if node.kind is FileType.LINK and path not in coming:
            walk = tree.follow(path)
            on_the_way = {*walk.passed, walk.end}
            if not on_the_way.isdisjoint(coming) or walk.end in programs:
                yield path.rpartition("/")[2]


def _needs(root: ClosureInput, coming: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the paths of `coming` that each program needs to start, if any."""
    direct: dict[tuple[str, bool], set[str]] = {}

    def wanted(path: str, runs: bool) -> set[str]:
        if (path, runs) not in direct:
            found = KeptPath(path, root.tree.nodes[path], frozenset(), runs)
            direct[path, runs] = {
                step
                for rule in (interpreter_of_script, loaded_by_program)
                for want in rule(root, found)
                for walk in (root.tree.walk(want.path),)
                for step in (*walk.passed, walk.end)
                if step is not None
            }
        return direct[path, runs]

    needs = {}
    for path, node in root.tree.nodes.items():
        if node.kind is not FileType.FILE or not node.mode & _MAY_RUN:
            continue
        waiting, reached = [*wanted(path, False)], {*wanted(path, False)}
        while waiting:
            new = wanted(waiting.pop(), True) - reached
            reached |= new
            waiting += new
        if missing := sorted(step[1:] for step in reached if step in coming and step != path):
            needs[path] = tuple(missing)
    return needs
