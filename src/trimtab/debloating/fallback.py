"""The fallback at a miss: its files in the slim environment, and its record.

The library `native/fallback` runs in the program. For each debloated library it reads a file that
is written here, in the layout of `native/fallback/sidecar.h`.
"""

import os
import struct
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

from trimtab.binaries.elf.reader import read_elf, read_loaded
from trimtab.binaries.rewriting.spans import SpanReason
from trimtab.config.groups.debloat import Debloat, Fallback, Mode
from trimtab.config.stages import EnvironmentStage
from trimtab.debloating.copies.directory_handle import DirectoryHandle
from trimtab.debloating.removed_pages import RemovedPages, removed_pages
from trimtab.debloating.span_document import spans_about, spans_of
from trimtab.debloating.store import (
    CHUNK_BYTES,
    LibraryDigests,
    add_to_store,
    digests_of,
    pack_into,
)
from trimtab.errors import UserError
from trimtab.files import sha256_of_all
from trimtab.native import native_path
from trimtab.processes.root import INIT
from trimtab.records.library_spans import LibrarySpans, spans_file
from trimtab.records.manifest import Manifest


class Behaviour(StrEnum):
    """What happens to a program at a miss, which is recorded in any case."""

    RESTORE = "restore"
    STRICT = "strict"
    REPORT = "report"


# In a slim environment: the library finds the folder by its own place.
FALLBACK_LIBRARY = Path("trimtab/libtrimtab-fallback.so")
SIDECARS = Path("trimtab/removed")
FETCHER = Path("trimtab/trimtab-fetch")
# Added by files/file_fallback.py.
FILE_FALLBACK_LIBRARY = Path("trimtab/libtrimtab-file-fallback.so")
FILE_INDEX = Path("trimtab/files.index")
# Added by targets/folder.py where programs need the original.
IDENTITY_FILE = Path("trimtab/original.identity")
# Written by module_archive/writing.py.
ARCHIVE = Path("trimtab/modules")
ENDED_AT_A_MISS = 70  # the exit code of a program that may not go on: STATUS_REMOVED
# In the same folder.
_STORE, _GPU_CODE_REMOVED = "store", "gpu_code_removed"
_MAGIC = b"TRIMTAB4"
_NOT_STARTED, _HOLDS_TRAPS = 1, 2
_LOCATION_BYTES = 4008
# The magic, flags, kind, bytes and SHA-256 of the original, six numbers, the layout, the location.
_HEADER = struct.Struct(f"<8sIIQ32s6IQ{_LOCATION_BYTES}s")
_LARGEST_BYTES = (1 << 32) - 1  # of a file, by the width of addresses in a sidecar
_KINDS = {Fallback.ORIGINAL: 0, Fallback.PACKED: 1, Fallback.STORE: 1}
_WORKERS = min(8, len(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class Source:
    """Where programs of a slim environment find missing pieces: `kind`, and for a store its place.

    `store` is the folder to write; programs reach it by `address`, its path or http://.
    """

    kind: Fallback
    store: Path | None = None
    address: str = ""

    @classmethod
    def of(cls, options: Debloat | EnvironmentStage) -> Self:
        """Return the source that the options name."""
        store = None if options.store is None else Path(os.path.abspath(options.store))
        return cls(options.fallback, store, options.store_address or "")


def add_fallback(
    environment: Path, original: Path, manifest: Manifest, spans: Path, source: Source
) -> None:
    """Add the files to the slim `environment` that its programs need to restore missing code.

    `trimtab/removed` lists the removed pages of every library in `manifest`, from its document in
    the folder `spans`. It also says where they are: in the library below `original`, in a store in
    the environment (`packed`), or in another store. A call into a library that is no longer
    initialized ends the program with a message. Programs have to load FALLBACK_LIBRARY. Raises
    UserError for libraries made with mode `punch`, or if an original was changed.
    """
    if manifest.mode == Mode.PUNCH:
        raise UserError(
            "mode punch leaves zeros where code was, which run instead of stopping; a fallback"
            " needs mode compact or zero"
        )
    with DirectoryHandle.at(environment) as top:
        top.remove(FALLBACK_LIBRARY.parent.name)  # of an environment that is itself slim
        with top.folder(FALLBACK_LIBRARY.parent, make=True) as ours:
            ours.folder(SIDECARS.name, make=True).close()

            def add(name: str) -> bool:
                document = spans_about(name, spans_file(spans, name))
                digest = manifest.files[name].sha256_before
                flags = (not document.started) * _NOT_STARTED
                flags += (manifest.mode == Mode.ZERO) * _HOLDS_TRAPS
                libraries = (original / name, environment / name, name)
                return _add_sidecar(ours, *libraries, document, digest, source, flags)

            with ThreadPoolExecutor(_WORKERS) as pool:
                if any(list(pool.map(add, manifest.files))):
                    ours.write(_GPU_CODE_REMOVED, b"")
            for program in (FALLBACK_LIBRARY, FETCHER):
                ours.write(program.name, native_path(program.name).read_bytes(), 0o755)


def sidecar_of(library: str) -> Path:
    """Return the path, in the environment, of the sidecar of a library that lost pages."""
    return SIDECARS / spans_file(Path(), library).with_suffix(".removed").name


def original_in(sidecar: bytes) -> tuple[bytes, int, str]:
    """Return the SHA-256 and bytes of a sidecar's original, and its location, "" for the
    environment's own store. Raises struct.error for a sidecar that is cut off.
    """
    _, _, _, size_bytes, sha256, *_, place = _HEADER.unpack_from(sidecar)
    return sha256, size_bytes, os.fsdecode(place.rstrip(b"\0"))


def not_as_debloated(original: Path) -> UserError:
    """Return the error for a library of the original environment that was changed."""
    return UserError(f"{original}: not the library that was debloated; profile it again")


def fallback_digests(environment: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of the fallback in a slim environment, by its path there.

    Objects of a store are left out: the fallback compares each read with its sidecar.
    """
    programs = (FALLBACK_LIBRARY, FETCHER, FILE_FALLBACK_LIBRARY, INIT)
    data = (FILE_INDEX, IDENTITY_FILE, ARCHIVE)
    files = [environment / path for path in (*programs, *data)]
    files += (environment / SIDECARS).glob("*")
    there = sha256_of_all(path for path in files if path.is_file())
    return {str(path.relative_to(environment)): digest for path, digest in there.items()}


def _add_sidecar(
    ours: DirectoryHandle,
    original: Path,
    slim: Path,
    name: str,
    document: LibrarySpans,
    sha256: str,
    source: Source,
    flags: int,
) -> bool:
    """Write the sidecar of a library that lost pages; return whether they held GPU code."""
    (elf, _), spans = read_loaded(original), spans_of(document)
    if (elf.build_id, elf.size_bytes) != (spans.build_id, spans.size_bytes):
        raise not_as_debloated(original)
    if not spans.removed_bytes:
        return False
    with elf.staying_whole():
        pages = removed_pages(elf, spans, document)
    if not pages.holes.size and not spans.bytes_of(SpanReason.START_UP_CODE):
        return False
    digests = digests_of(original)
    if not digests.sha256.hex() == sha256 == document.sha256:
        raise not_as_debloated(original)
    location = {
        Fallback.ORIGINAL: str(original.resolve()),
        Fallback.PACKED: "",
        Fallback.STORE: source.address or str(source.store),
    }[source.kind]
    if len(os.fsencode(location)) >= _LOCATION_BYTES or elf.size_bytes > _LARGEST_BYTES:
        raise UserError(
            f"{original}: larger than {_LARGEST_BYTES} bytes, or {location}: longer than"
            f" {_LOCATION_BYTES - 1}; build the environment with fallback: none"
        )
    if source.kind == Fallback.PACKED:
        wanted = pages.source_bytes(elf.size_bytes, CHUNK_BYTES)
        with ours.folder(_STORE, make=True) as store:
            pack_into(store, original, digests, wanted)
    elif source.kind == Fallback.STORE and source.store is not None:
        add_to_store(source.store, original, digests)
    sidecar = _sidecar(pages, digests, _layout_of(slim), location, source.kind, flags)
    with ours.folder(SIDECARS.name) as removed:
        removed.write(sidecar_of(name).name, sidecar)
    return pages.gpu_code


def _sidecar(
    pages: RemovedPages,
    digests: LibraryDigests,
    layout: int,
    location: str,
    kind: Fallback,
    flags: int,
) -> bytes:
    numbers = [len(pages.holes), len(pages.pieces), len(pages.functions), len(pages.kernels)]
    numbers += [len(digests.chunks), len(pages.text)]
    place = os.fsencode(location)
    facts = (flags, _KINDS[kind], digests.size_bytes, digests.sha256, *numbers, layout, place)
    header = _HEADER.pack(_MAGIC, *facts)
    rows = (pages.holes, pages.pieces, pages.functions, pages.kernels)
    return b"".join((header, *(row.tobytes() for row in rows), *digests.chunks, pages.text))


def _layout_of(slim: Path) -> int:
    """Return how a program identifies a library's segments, as layout_of in loaded.c does."""
    layout = 0xCBF29CE484222325
    for segment in read_elf(slim).segments:
        for word in (segment.address, segment.file_bytes):
            layout = (layout ^ word) * 0x100000001B3 % (1 << 64)
    return layout


def fallback_environment(
    environment: Mapping[str, str], behaviour: Behaviour, record: Path
) -> dict[str, str]:
    """Return `environment` with `record` as the file that misses are written to."""
    return {
        **environment,
        "TRIMTAB_FALLBACK": behaviour.value,
        "TRIMTAB_FALLBACK_RECORD": os.path.abspath(record),
    }
