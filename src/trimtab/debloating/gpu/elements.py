"""Decide which pieces of a library's GPU code are kept or removed, and why."""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.gpu.architecture import can_load, preference, ptx_fits
from trimtab.binaries.gpu.fatbin import ElementKind, GpuCode
from trimtab.debloating.gpu.element_programs import GpuProgram, Piece, kind_of, read_programs
from trimtab.records.usage import UsedModule


class ElementReason(IntEnum):
    """Why a piece is kept or removed; the value is its code in arrays and files."""

    ARCHITECTURE = 0
    UNUSED = 1
    PTX = 2
    USED = 3
    ENUMERATED = 4
    GLOBALS = 5
    NO_KERNELS = 6
    UNREADABLE = 7
    FITS = 8
    TOO_LARGE = 9

    @property
    def text(self) -> str:
        """The reason in words."""
        return _TEXTS[self]

    @property
    def kept(self) -> bool:
        """Whether a piece with this reason stays."""
        return self >= ElementReason.USED


_TEXTS = {
    ElementReason.ARCHITECTURE: "no target GPU loads it",
    ElementReason.UNUSED: "no kernel of it was used",
    ElementReason.PTX: "PTX that no target GPU needs",
    ElementReason.USED: "used",
    ElementReason.ENUMERATED: "used, and the program listed its kernels",
    ElementReason.GLOBALS: "holds variables and no kernels",
    ElementReason.NO_KERNELS: "holds no kernels",
    ElementReason.UNREADABLE: "what it holds cannot be told",
    ElementReason.TOO_LARGE: "what it holds would be too much to decompress",
    ElementReason.FITS: "a target GPU loads it; what is used was not traced",
}


@dataclass(frozen=True)
class UsedGpuCode:
    """What traced runs used: modules by SHA-256, kernels known by name only, and on which GPUs.

    `traced_on` are compute capabilities, 90 for 9.0. `linked`: code may have been linked at run
    time from LTO-IR and relocatable cubins in libraries.
    """

    modules: Mapping[str, UsedModule]
    names: frozenset[str]
    traced_on: frozenset[int]
    linked: bool = True

    @classmethod
    def of(
        cls, modules: Iterable[UsedModule], traced_on: Iterable[int], linked: bool = True
    ) -> "UsedGpuCode":
        """Return the use of several runs; only names are known of modules without a digest."""
        by_digest: dict[str, UsedModule] = {}
        names: set[str] = set()
        for module in modules:
            if not module.sha256:
                names.update(module.kernels)
                continue
            seen = by_digest.get(module.sha256, module)
            by_digest[module.sha256] = UsedModule(
                sha256=module.sha256,
                size_bytes=module.size_bytes,
                kernels=sorted({*seen.kernels, *module.kernels}),
                globals=sorted({*seen.globals, *module.globals}),
                enumerated=seen.enumerated or module.enumerated,
                processes=sorted({*seen.processes, *module.processes}),
            )
        return cls(by_digest, frozenset(names), frozenset(traced_on), linked)

    @property
    def kernels(self) -> frozenset[str]:
        """The names of all kernels that were looked up in any module."""
        return self.names.union(*(module.kernels for module in self.modules.values()))


@dataclass(frozen=True, eq=False)
class Decisions:
    """The elements and frames of a file, by rising offset: [offset, end) and the reason's code.

    `offset` and `end` are int64, `reason` uint8, of shape (n,); an element includes its header, no
    piece includes a region's header. `used_kernels` are the mangled names of known used kernels in
    a kept piece, by its offset. `modules` are the digests of the used modules that were found among
    the pieces; modules in no library were compiled or linked at run time. `fits` are the offsets of
    the pieces that a target GPU takes, used or not. `unused_kernels` names one kernel of each
    unused piece.
    """

    offset: NDArray[np.int64]
    end: NDArray[np.int64]
    reason: NDArray[np.uint8]
    used_kernels: Mapping[int, frozenset[str]]
    modules: frozenset[str]
    fits: frozenset[int] = frozenset()
    unused_kernels: Mapping[int, str] = field(default_factory=dict)

    @property
    def kept(self) -> frozenset[int]:
        """The offsets of the pieces that stay."""
        return frozenset(self.offset[self.reason >= ElementReason.USED].tolist())

    @property
    def put_back(self) -> frozenset[int]:
        """The offsets of removed pieces that are restored when the driver reads them."""
        gone = self.offset[self.reason == ElementReason.UNUSED].tolist()
        return frozenset(gone) | (self.fits - self.kept)

    @property
    def kernels(self) -> frozenset[str]:
        """The names of the used kernels in all pieces."""
        return frozenset[str]().union(*self.used_kernels.values())

    def without_use(self) -> "Decisions":
        """Return these decisions for a library that is not initialized: it uses no piece."""
        reason = np.where(
            self.reason >= ElementReason.USED, np.uint8(ElementReason.UNUSED), self.reason
        )
        return replace(self, reason=reason, used_kernels={}, modules=frozenset())

    def count_of(self, reason: ElementReason) -> int:
        """Return how many pieces have this reason."""
        return int((self.reason == reason).sum())

    def bytes_of(self, reason: ElementReason) -> int:
        """Return how many bytes have this reason."""
        return int((self.end - self.offset)[self.reason == reason].sum())


def decide(
    data: NDArray[np.uint8],
    gpu_code: GpuCode,
    gpus: Sequence[int],
    use: UsedGpuCode | None,
    touched: Collection[int] = (),
) -> Decisions:
    """Decide for each element and frame of the file `data` (uint8), for the target GPUs `gpus`.

    `gpus` are compute capabilities, 90 for 9.0. From each region a GPU gets the closest cubin that
    it can load, or else the latest PTX, compiled by the driver. On a traced GPU, a cubin is used if
    a module of its digest was loaded. On another GPU, it is used if it holds a kernel that was
    looked up anywhere, or shares a region with a loaded cubin. A piece with one of the file offsets
    `touched` is always used. With `use` None, all that a target GPU can get is kept; without
    `gpus`, only `touched` pieces. Raises ValueError if both are missing.
    """
    if not gpus and use is None:
        raise ValueError("expected a target GPU, or what was used")
    groups: list[tuple[Piece, ...]] = [region.elements for region in gpu_code.regions]
    groups += [(frame,) for frame in gpu_code.frames]
    pieces = sorted((p for group in groups for p in group), key=lambda piece: piece.offset)
    picked = {gpu: [_picked(group, gpu) for group in groups] for gpu in gpus}
    linked = use is None or use.linked
    reasons = {
        piece.offset: _unless_picked(piece, gpus, linked) if gpus else ElementReason.UNUSED
        for piece in pieces
    }
    used_kernels: dict[int, frozenset[str]] = {}
    unused_kernels: dict[int, str] = {}
    modules: frozenset[str] = frozenset()
    if use is None:
        for choices in picked.values():
            reasons.update(
                (piece.offset, ElementReason.FITS) for choice in choices for piece in choice
            )
    else:
        modules = _decide_by_use(data, groups, picked, use, reasons, used_kernels, unused_kernels)
    for offset in touched:
        piece = pieces[max(bisect_right(pieces, offset, key=lambda piece: piece.offset) - 1, 0)]
        if piece.offset <= offset < piece.end and not reasons[piece.offset].kept:
            reasons[piece.offset] = ElementReason.USED
    return Decisions(
        offset=np.array([piece.offset for piece in pieces], np.int64),
        end=np.array([piece.end for piece in pieces], np.int64),
        reason=np.array([reasons[piece.offset] for piece in pieces], np.uint8),
        used_kernels=used_kernels,
        modules=modules,
        fits=frozenset(p.offset for choices in picked.values() for c in choices for p in c),
        unused_kernels=unused_kernels,
    )


def _picked(group: Sequence[Piece], gpu: int) -> list[Piece]:
    """Return the pieces of one region that the driver may choose for this GPU; it takes one."""
    fitting = [p for p in group if kind_of(p) is ElementKind.ELF and can_load(p.architecture, gpu)]
    if not fitting:
        fitting = [
            p for p in group if kind_of(p) is ElementKind.PTX and ptx_fits(p.architecture, gpu)
        ]
    closest = max((preference(piece.architecture) for piece in fitting), default=0)
    return [piece for piece in fitting if preference(piece.architecture) == closest]


def _unless_picked(piece: Piece, gpus: Sequence[int], linked: bool) -> ElementReason:
    """Return the reason of a piece that the driver chooses for no target GPU."""
    kind = kind_of(piece)
    if kind is ElementKind.ELF or not any(ptx_fits(piece.architecture, gpu) for gpu in gpus):
        return ElementReason.ARCHITECTURE
    if kind is ElementKind.PTX:
        return ElementReason.PTX
    # LTO-IR is for linking at run time, which leaves no trace of the linked code.
    return ElementReason.UNREADABLE if linked else ElementReason.UNUSED


def _decide_by_use(
    data: NDArray[np.uint8],
    groups: Sequence[Sequence[Piece]],
    picked: Mapping[int, Sequence[Sequence[Piece]]],
    use: UsedGpuCode,
    reasons: dict[int, ElementReason],
    used_kernels: dict[int, frozenset[str]],
    unused_kernels: dict[int, str],
) -> frozenset[str]:
    """Write reasons and kernels; return the digests of the used modules that were found."""
    sizes = {module.size_bytes for module in use.modules.values()}
    wanted = {p.offset: p for choices in picked.values() for choice in choices for p in choice}
    wanted |= {
        piece.offset: piece
        for group in groups
        for piece in group
        if kind_of(piece) is ElementKind.ELF and piece.uncompressed_bytes in sizes
    }
    programs = read_programs(data, wanted.values(), sizes)
    loaded = {
        offset: use.modules[program.sha256]
        for offset, program in programs.items()
        if program.sha256 in use.modules
    }
    every_kernel = use.kernels

    def keep(piece: Piece, reason: ElementReason, kernels: Iterable[str] = ()) -> None:
        if reasons[piece.offset] is not ElementReason.ENUMERATED:
            reasons[piece.offset] = reason
        used = used_kernels.get(piece.offset, frozenset()).union(kernels)
        if used:
            used_kernels[piece.offset] = used

    for gpu, choices in picked.items():
        traced = gpu in use.traced_on
        for group, choice in zip(groups, choices, strict=True):
            modules = [loaded[piece.offset] for piece in group if piece.offset in loaded]
            for piece in group:
                if traced and piece.offset in loaded and can_load(piece.architecture, gpu):
                    module = loaded[piece.offset]
                    keep(piece, _reason_of_used([module]), module.kernels)
            for piece in choice:
                program = programs[piece.offset]
                compiled = (
                    kind_of(piece) is ElementKind.PTX
                )  # the digest of the compiled module is unknown
                names = use.names if traced and not compiled else every_kernel
                kernels = program.kernels & names
                if kernels or (modules and not traced):
                    keep(piece, _reason_of_used(modules), kernels)
                elif not reasons[piece.offset].kept:
                    reasons[piece.offset] = _reason_of_unused(piece, program, use.linked)
                    unused_kernels[piece.offset] = min(program.kernels, default="")
    return frozenset(module.sha256 for module in loaded.values())


def _reason_of_used(modules: Sequence[UsedModule]) -> ElementReason:
    return ElementReason.ENUMERATED if any(m.enumerated for m in modules) else ElementReason.USED


def _reason_of_unused(piece: Piece, program: GpuProgram, linked: bool) -> ElementReason:
    if not program.readable:
        return ElementReason.TOO_LARGE if program.too_large else ElementReason.UNREADABLE
    if not program.kernels and (linked or not program.relocatable):
        return ElementReason.GLOBALS if program.has_globals else ElementReason.NO_KERNELS
    return ElementReason.PTX if kind_of(piece) is ElementKind.PTX else ElementReason.UNUSED
