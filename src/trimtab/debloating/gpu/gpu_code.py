"""The GPU code of a library: what of it is kept, and what the file becomes without the rest."""

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

# Functions that link programs for a GPU, by a part of their name, in the libraries that have them.
_LINKERS = {"libnvJitLink": "nvJitLink", "libcuda": "cuLink"}
_SPAN_REASONS = {
    ElementReason.ARCHITECTURE: SpanReason.GPU_ARCHITECTURE,
    ElementReason.UNUSED: SpanReason.GPU_UNUSED,
    ElementReason.PTX: SpanReason.GPU_PTX,
}


@dataclass(frozen=True)
class GpuScope:
    """What GPU code is kept for: compute capabilities (90 for 9.0), and what was used on them.

    Without both all is kept, and `why_all` says why; with `use` None all that a GPU can load. With
    `put_back` what the driver may ask for after all stays listed where it looks it up.
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
    """Return what GPU code is kept for; `gpus` are a hardware YAML's, else those traced on count.

    Where GPU code cannot come back, but functions can, all that these GPUs can load is kept. Where
    it can, all of it goes of programs that asked for no GPU.
    Raises UserError for a compute capability that is none.
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
    """Whether the traced runs may have used a GPU, by the functions of the driver that ran."""
    drivers = [each for each in usage.libraries if _stem(each) == "libcuda"]
    return any(names is None or asks_for_gpu(names) for names in map(_called, drivers))


def _links(library: UsedLibrary) -> bool:
    """Whether programs for a GPU were linked at run time: by nvJitLink, or by the driver.

    What was linked is loaded as another module than its parts, which are then known by no digest.
    """
    stem = _stem(library)
    if stem not in _LINKERS or not Path(library.path).is_file():
        return False
    called = _called(library)
    return called is None or any(_LINKERS[stem] in name for name in called)


def _stem(library: UsedLibrary) -> str:
    return Path(library.path).name.split(".")[0]


def _called(library: UsedLibrary) -> list[str] | None:
    """Return the names of a library's functions that ran, or None where that is not known."""
    if not library.traced or not Path(library.path).is_file():
        return None
    names = function_names(read_elf(Path(library.path)))
    return [names.of(address) or "" for address in library.used_functions]


@dataclass(frozen=True, eq=False)
class LocatedGpuCode:
    """A library's GPU code, what becomes of each piece (None: all is kept), and the patches."""

    code: GpuCode
    decisions: Decisions | None
    patches: tuple[Patch, ...]
    bytes_total: int
    bytes_kept: int
    pruned: int = 0  # elements within which unused kernels went
    placed: Mapping[int, int] = field(default_factory=dict)  # where listed elements begin now

    @property
    def elements_total(self) -> int:
        """How many elements and bare frames there are."""
        return sum(len(region.elements) for region in self.code.regions) + len(self.code.frames)

    @property
    def elements_kept(self) -> int:
        """How many of them stay."""
        return self.elements_total if self.decisions is None else len(self.decisions.kept)

    def removed_because(self, reason: ElementReason) -> int:
        """Return how many elements are removed for this reason."""
        return 0 if self.decisions is None else self.decisions.count_of(reason)


def has_gpu_code(elf: Elf) -> bool:
    """Whether a library holds any GPU code, or what only looks like it."""
    code = find_gpu_code(elf)
    return bool(code.regions or code.frames or code.problem)


def locate_gpu_code(
    elf: Elf, spans: Spans, scope: GpuScope, started: bool = True, touched: Collection[int] = ()
) -> tuple[Spans, LocatedGpuCode]:
    """Return `spans` with what is removed of GPU code, and what that is.

    A library that is not `started` hands none of its GPU code over: all is removed. Pieces with one
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
    """Return the pieces that stay where the driver or the library looks for them, used or not.

    A region that no wrapper names and of which nothing is used leaves as it is: whoever finds it by
    its address has all of it back.
    """
    kept, put_back = decisions.kept, decisions.put_back
    listed = set(kept)
    for region in code.regions:
        offsets = {element.offset for element in region.elements}
        if region.offset in registered or offsets & kept:
            listed |= offsets & put_back
    return listed


def _pruned(elf: Elf, code: GpuCode, decisions: Decisions) -> dict[int, bytes]:
    """Return the new bytes of the used elements that hold unused kernels too, by offset.

    A damaged one stays as it is.
    """
    used = set(decisions.offset[decisions.reason == ElementReason.USED].tolist())
    chosen = [e for region in code.regions for e in region.elements if e.offset in used]
    pruned, expansion = {}, Expansion.of(elf.size_bytes)
    for element in chosen:
        kernels = decisions.used_kernels.get(element.offset, frozenset())
        try:
            result = prune_element(elf.data, element, kernels, expansion) if kernels else None
        except (FatbinError, CubinError):
            continue  # it stays whole
        if result is not None:
            pruned[element.offset] = result.element
    return pruned
