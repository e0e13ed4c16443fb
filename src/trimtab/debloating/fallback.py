"""Falling back when something is missed: what the slim environment needs for it, and its record.

The library `native/fallback` does the work in the program. What it needs of each debloated library
is written here, in the layout of `native/fallback/sidecar.h`.
"""

import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Self

from trimtab.binaries.elf.reader import read_elf
from trimtab.binaries.rewriting.spans import SpanReason
from trimtab.config.groups.debloat import Debloat, Fallback, Mode
from trimtab.config.stages import EnvironmentStage
from trimtab.debloating.removed import RemovedPages, removed_pages
from trimtab.debloating.span_document import spans_of
from trimtab.debloating.store import CHUNK_BYTES, LibraryDigests, add_to_store, digests_of
from trimtab.errors import UserError
from trimtab.files import whole_file
from trimtab.native import native_path
from trimtab.records.library_spans import LibrarySpans, spans_file
from trimtab.records.manifest import Manifest


class Behaviour(StrEnum):
    """What becomes of a program that misses something, besides that it is recorded."""

    RESTORE = "restore"
    STRICT = "strict"


# In a slim environment: the library finds the folder by its own place.
FALLBACK_LIBRARY = Path("trimtab/libtrimtab-fallback.so")
_FETCHER = Path("trimtab/trimtab-fetch")
_REMOVED = Path("trimtab/removed")
_STORE = Path("trimtab/store")
_GPU_CODE_REMOVED = Path("trimtab/gpu_code_removed")
_MAGIC = b"TRIMTAB3"
_NOT_STARTED, _HOLDS_TRAPS = 1, 2
_LOCATION_BYTES = 4008
_LARGEST_BYTES = (1 << 32) - 1  # of a file, by the width of addresses in a sidecar
_KINDS = {Fallback.ORIGINAL: 0, Fallback.PACKED: 1, Fallback.STORE: 1}
_WORKERS = min(8, len(os.sched_getaffinity(0)))


@dataclass(frozen=True)
class Source:
    """Where programs of a slim environment find what they miss: `kind`, and for a store its place.

    `store` is a folder that is written; programs reach it by `address`, its path or http://.
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
    """Lay down in the slim `environment` what its programs need to survive what was removed.

    `trimtab/removed` says for every library of `manifest` that lost pages which these are, by its
    document in the folder `spans`, and where they are: in the library below `original`, in a store
    beside it in the environment (`packed`), or in another one. A call into a library that is not
    started any more ends the program with a message. FALLBACK_LIBRARY has to be loaded by programs.
    Raises UserError when the libraries were made with mode `punch`, or when an original was
    changed.
    """
    if manifest.mode == Mode.PUNCH:
        raise UserError(
            "mode punch leaves zeros where code was, which run instead of stopping; a fallback"
            " needs mode compact or zero"
        )
    removed = environment / _REMOVED
    shutil.rmtree(removed.parent, ignore_errors=True)
    removed.mkdir(parents=True)

    def add(name: str) -> bool:
        document = LibrarySpans.read(spans_file(spans, name))
        sidecar = spans_file(removed, name).with_suffix(".removed")
        digest = manifest.files[name].sha256_before
        flags = (not document.started) * _NOT_STARTED + (manifest.mode == Mode.ZERO) * _HOLDS_TRAPS
        place = (sidecar, original / name, environment, name)
        return _add_sidecar(*place, document, digest, source, flags)

    with ThreadPoolExecutor(_WORKERS) as pool:
        if any(list(pool.map(add, manifest.files))):
            (environment / _GPU_CODE_REMOVED).touch()
    for program in (FALLBACK_LIBRARY, _FETCHER):
        with whole_file(environment / program, 0o755) as temporary:
            shutil.copyfile(native_path(program.name), temporary)


def _add_sidecar(
    path: Path,
    original: Path,
    environment: Path,
    name: str,
    document: LibrarySpans,
    sha256: str,
    source: Source,
    flags: int,
) -> bool:
    """Write the sidecar of a library that lost pages; return whether GPU code is among these."""
    elf, spans = read_elf(original), spans_of(document)
    if (elf.build_id, elf.size_bytes) != (spans.build_id, spans.size_bytes):
        raise UserError(f"{original}: not the library that was debloated; profile it again")
    pages = removed_pages(elf, spans, document)
    if not pages.holes.size and not spans.bytes_of(SpanReason.START_UP_CODE):
        return False
    digests = digests_of(original)
    if sha256 and digests.sha256.hex() != sha256:
        raise UserError(f"{original}: was changed since it was debloated; profile it again")
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
        add_to_store(environment / _STORE, original, digests, wanted)
    elif source.kind == Fallback.STORE and source.store is not None:
        add_to_store(source.store, original, digests)
    layout = _layout_of(environment / name)
    _write_sidecar(path, pages, digests, layout, location, source.kind, flags)
    return pages.gpu_code


def _write_sidecar(
    path: Path,
    pages: RemovedPages,
    digests: LibraryDigests,
    layout: int,
    location: str,
    kind: Fallback,
    flags: int,
) -> None:
    numbers = [len(pages.holes), len(pages.pieces), len(pages.functions), len(pages.kernels)]
    numbers += [len(digests.chunks), len(pages.text)]
    header = b"".join(
        (
            _MAGIC,
            flags.to_bytes(4, "little"),
            _KINDS[kind].to_bytes(4, "little"),
            digests.size_bytes.to_bytes(8, "little"),
            digests.sha256,
            *(number.to_bytes(4, "little") for number in numbers),
            layout.to_bytes(8, "little"),
            os.fsencode(location).ljust(_LOCATION_BYTES, b"\0"),
        )
    )
    with whole_file(path) as temporary, temporary.open("wb") as file:
        file.write(header)
        for rows in (pages.holes, pages.pieces, pages.functions, pages.kernels):
            file.write(rows.tobytes())
        file.write(b"".join(digests.chunks) + pages.text)


def _layout_of(slim: Path) -> int:
    """Return what a program knows a library's segments by, as layout_of in loaded.c has it."""
    layout = 0xCBF29CE484222325
    for segment in read_elf(slim).segments:
        for word in (segment.address, segment.file_bytes):
            layout = (layout ^ word) * 0x100000001B3 % (1 << 64)
    return layout


def fallback_environment(
    environment: Mapping[str, str], behaviour: Behaviour, record: Path
) -> dict[str, str]:
    """Return `environment` in which what is missed is written to `record`."""
    return {
        **environment,
        "TRIMTAB_FALLBACK": behaviour.value,
        "TRIMTAB_FALLBACK_RECORD": os.path.abspath(record),
    }
