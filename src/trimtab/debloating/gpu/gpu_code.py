"""The GPU code of a library: which parts are kept, and the file without the rest."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trimtab.binaries.elf.names import function_names
from trimtab.binaries.elf.reader import Elf, read_elf
from trimtab.binaries.gpu.architecture import parse_architecture
from trimtab.binaries.gpu.compression import Expansion
from trimtab.binaries.gpu.cubin import CubinError
from trimtab.binaries.gpu.fatbin import FatbinError, GpuCode, find_gpu_code
from trimtab.binaries.gpu.wrappers import registered_regions
from trimtab.binaries.rewriting.gpu_spans import with_gpu_code
from trimtab.binaries.rewriting.prune_cubin import prune_element
from trimtab.binaries.rewriting.regions import Patch, rewrite_regions
from trimtab.binaries.rewriting.spans import SpanReason, Spans
from trimtab.config.groups.debloat import Debloat, Fallback, Gpu, Kernels, Mode
from trimtab.debloating.gpu.element_programs import Piece
from trimtab.debloating.gpu.elements import Decisions, ElementReason, UsedGpuCode, decide
from trimtab.profiling.tracing.kernels import asks_for_gpu
from trimtab.records.usage import Usage, UsedLibrary

# Libraries that link GPU code at run time, and part of the names of the functions for it.
_LINKERS = {"libnvJitLink": "nvJitLink", "libcuda": "cuLink"}
_SPAN_REASONS = {
    ElementReason.ARCHITECTURE: SpanReason.GPU_ARCHITECTURE,
    ElementReason.UNUSED: SpanReason.GPU_UNUSED,
    ElementReason.PTX: SpanReason.GPU_PTX,
}


@dataclass(frozen=True)
class GpuScope:
    """The GPUs to keep code for (compute capabilities, 90 for 9.0), and the code used on them.

    Without both, all code is kept, and `why_all` says why. With `use` None, all code that one of
    the GPUs can load is kept. With `put_back`, removed pieces stay listed where the driver looks
    them up.
    """

    gpus: tuple[int, ...] = ()
    use: UsedGpuCode | None = None
    prune: bool = False
    put_back: bool = False
    why_all: str = ""

    @property
    def keeps_all(self) -> bool:
        """Whether no GPU code is removed."""
        return not self.gpus and self.use is None


def gpu_scope_of(options: Debloat, usages: Sequence[Usage], gpus: Sequence[str]) -> GpuScope:
    """Return the scope of kept GPU code; `gpus` are a hardware YAML's, by default the traced GPUs.

    Where functions can be restored but GPU code cannot, all code that these GPUs can load is kept.
    Where it can be restored, programs that asked for no GPU lose all of it. Raises UserError for an
    invalid compute capability.
    """
    if options.gpu == Gpu.KEEP:
        return GpuScope(why_all="debloat.gpu is keep")
    traced_on = {gpu.architecture for usage in usages for gpu in usage.gpus}
    numbers = tuple(sorted({parse_architecture(gpu).number for gpu in gpus} or traced_on))
    comes_back = options.fallback != Fallback.NONE
    put_back = comes_back and options.mode == Mode.COMPACT
    if not numbers:
        if options.gpu == Gpu.USED and put_back and not any(map(_asks_for_gpu, usages)):
            return GpuScope(use=UsedGpuCode.of([], [], linked=False), put_back=True)
        return GpuScope(why_all="no GPU was traced on, and the hardware names none")
    if options.gpu == Gpu.ARCHITECTURE or comes_back != put_back:
        return GpuScope(numbers)
    for usage in usages:
        if not usage.kernels_traced:
            return GpuScope(why_all=usage.kernels_not_traced_because or "no kernels were traced")
    modules = [module for usage in usages for module in usage.modules]
    linked = any(_links(library) for usage in usages for library in usage.libraries)
    use = UsedGpuCode.of(modules, traced_on, linked)
    return GpuScope(numbers, use, options.kernels == Kernels.PRUNE, put_back)


def _asks_for_gpu(usage: Usage) -> bool:
    """Whether the traced runs may have used a GPU, by the driver functions that ran."""
    drivers = [each for each in usage.libraries if _stem(each) == "libcuda"]
    return any(names is None or asks_for_gpu(names) for names in map(_called, drivers))


def _links(library: UsedLibrary) -> bool:
    """Whether GPU programs were linked at run time, by nvJitLink or by the driver.

    A linked program is loaded as one module; the digests of its parts are then unknown.
    """
    stem = _stem(library)
    if stem not in _LINKERS or not Path(library.path).is_file():
        return False
    called = _called(library)
    return called is None or any(_LINKERS[stem] in name for name in called)


def _stem(library: UsedLibrary) -> str:
    return Path(library.path).name.split(".")[0]


def _called(library: UsedLibrary) -> list[str] | None:
    """Return the names of a library's functions that ran; None if unknown."""
    if not library.traced or not Path(library.path).is_file():
        return None
    names = function_names(read_elf(Path(library.path)))
    return [names.of(address) or "" for address in library.used_functions]


@dataclass(frozen=True, eq=False)
class LocatedGpuCode:
    """A library's GPU code, the decisions (None: all is kept), and the patches."""

    code: GpuCode
    decisions: Decisions | None
    patches: tuple[Patch, ...]
    bytes_total: int
    bytes_kept: int
    pruned: int = 0  # elements that lost unused kernels
    placed: Mapping[int, int] = field(default_factory=dict)  # new offsets of listed elements

    @property
    def elements_total(self) -> int:
        """The number of elements and bare frames."""
        return sum(len(region.elements) for region in self.code.regions) + len(self.code.frames)

    @property
    def elements_kept(self) -> int:
        """The number of elements and bare frames that stay."""
        return self.elements_total if self.decisions is None else len(self.decisions.kept)

    def removed_because(self, reason: ElementReason) -> int:
        """Return how many elements are removed for this reason."""
        return 0 if self.decisions is None else self.decisions.count_of(reason)


def has_gpu_code(elf: Elf) -> bool:
    """Whether a library holds GPU code, or data that only looks like it."""
    code = find_gpu_code(elf)
    return bool(code.regions or code.frames or code.problem)


def locate_gpu_code(
    elf: Elf, spans: Spans, scope: GpuScope, started: bool = True, touched: Collection[int] = ()
) -> tuple[Spans, LocatedGpuCode]:
    """Return `spans` with the removed GPU code, and that code.

    A library that is not `started` loses all of its GPU code, as it registers none. Pieces with one
    of the file offsets `touched` were used.
    """
    code = find_gpu_code(elf)
    pieces: list[Piece] = [element for region in code.regions for element in region.elements]
    total = sum(piece.end - piece.offset for piece in [*pieces, *code.frames])
    if scope.keeps_all or not total:
        return spans, LocatedGpuCode(code, None, (), total, total)
    decisions = decide(elf.data, code, scope.gpus, scope.use, touched)
    if not started:
        decisions = decisions.without_use()
    replacements = _pruned(elf, code, decisions) if scope.prune and scope.use else {}
    registered = registered_regions(elf, code) if started else frozenset[int]()
    listed = _listed(code, decisions, registered) if scope.put_back else decisions.kept
    rewritten = rewrite_regions(elf.data, code, listed, replacements, registered)
    reasons = {
        offset: _SPAN_REASONS.get(ElementReason(reason), SpanReason.GPU_USED)
        for offset, reason in zip(decisions.offset.tolist(), decisions.reason.tolist(), strict=True)
    }
    spans = with_gpu_code(spans, code, reasons, rewritten)
    kept = int(np.isin(decisions.offset, list(decisions.kept)) @ (decisions.end - decisions.offset))
    lengths = {element.offset: element.end - element.offset for element in pieces}
    kept -= sum(lengths[offset] - len(program) for offset, program in replacements.items())
    patches = rewritten.patches
    return spans, LocatedGpuCode(
        code, decisions, patches, total, kept, len(replacements), rewritten.placed
    )


def _listed(code: GpuCode, decisions: Decisions, registered: Collection[int]) -> set[int]:
    """Return the pieces that stay listed where the driver or the library looks, used or not.

    A region without a wrapper or used pieces is removed unchanged: a program that finds it by its
    address gets all of it back.
    """
    kept, put_back = decisions.kept, decisions.put_back
    listed = set(kept)
    for region in code.regions:
        offsets = {element.offset for element in region.elements}
        if region.offset in registered or offsets & kept:
            listed |= offsets & put_back
    return listed


def _pruned(elf: Elf, code: GpuCode, decisions: Decisions) -> dict[int, bytes]:
    """Return the new bytes of used elements that also hold unused kernels, by offset.

    A damaged element stays unchanged.
    """
    used = set(decisions.offset[decisions.reason == ElementReason.USED].tolist())
    chosen = [e for region in code.regions for e in region.elements if e.offset in used]
    pruned, expansion = {}, Expansion.of(elf.size_bytes)
    for element in chosen:
        kernels = decisions.used_kernels.get(element.offset, frozenset())
        try:
            result = prune_element(elf.data, element, kernels, expansion) if kernels else None
        except (FatbinError, CubinError):
            continue  # it stays unchanged
        if result is not None:
            pruned[element.offset] = result.element
    return pruned
