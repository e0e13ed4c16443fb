"""Locate the used code in a library's file, and count it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.elf.format_rules import format_violation
from trimtab.binaries.elf.functions import Functions, read_functions
from trimtab.binaries.elf.reader import Elf, read_loaded
from trimtab.binaries.relations.likely import with_likely
from trimtab.binaries.relations.resolvers import resolvers
from trimtab.binaries.relations.unwind_spans import without_unwind_tables
from trimtab.binaries.rewriting.initializers import stop_patches, strip_initializers
from trimtab.binaries.rewriting.locate import left_as_it_is, locate
from trimtab.binaries.rewriting.regions import Patch
from trimtab.binaries.rewriting.spans import Spans
from trimtab.binaries.rewriting.start_up import why_started
from trimtab.binaries.rewriting.unread_data import with_read, without_unread_data
from trimtab.binaries.rewriting.whole_pages import whole_pages
from trimtab.config.groups.debloat import Debloat, Fallback, Mode, StartUpOnly, Symbols
from trimtab.debloating.gpu.gpu_code import (
    GpuScope,
    LocatedGpuCode,
    has_gpu_code,
    locate_gpu_code,
)
from trimtab.debloating.libraries.profiled import ProfiledLibrary
from trimtab.profiling.tracing.function_records import LEFT_ALONE


@dataclass(frozen=True)
class Located:
    """The used code in a library's file, and its totals.

    `started` is false if the library loses all code with its constructors; `patches` are the bytes
    that change.
    """

    elf: Elf
    spans: Spans
    gpu: LocatedGpuCode
    started: bool
    patches: tuple[Patch, ...]
    functions_total: int
    functions_used: int
    function_bytes_total: int
    function_bytes_kept: int


def locate_used(library: ProfiledLibrary, options: Debloat, gpu: GpuScope) -> Located:
    """Return the kept and removed spans of the library's file, with reasons."""
    elf, unread = read_loaded(library.path)
    with elf.staying_whole():
        if unread:
            nothing = np.empty(0, np.uint64)
            return _whole(elf, Functions(nothing, nothing, reason=unread), unread)
        return _locate_used(elf, library, options, gpu)


def _locate_used(elf: Elf, library: ProfiledLibrary, options: Debloat, gpu: GpuScope) -> Located:
    functions = read_functions(elf)
    broken = library.written_wrongly or format_violation(elf)
    if library.left_alone:
        broken = LEFT_ALONE.removeprefix("it is left as it is: ")
    if broken:
        return _whole(elf, functions, broken)
    starts = functions.start.astype(np.int64)
    used = np.isin(starts, library.used)
    if library.why_not:
        used[:] = True
    # If all GPU code is kept, its libraries are too: the GPU code needs them.
    stopped = (
        library.loaded
        and options.start_up_only == StartUpOnly.REMOVE
        and not library.why_not
        and not why_started(elf, functions, used)
        and (not gpu.keeps_all or not has_gpu_code(elf))
    )
    if not stopped:
        used = with_likely(elf, functions, used | resolvers(elf, functions))
    else:
        used = np.zeros_like(used)
    spans = locate(elf, functions, used, options.symbols == Symbols.KEEP)
    touched = elf.offsets_of(library.used_data)
    if stopped:
        spans = strip_initializers(elf, spans)
    elif options.mode == Mode.COMPACT and options.fallback != Fallback.NONE:
        # In other modes data cannot be restored.
        spans = without_unwind_tables(elf, spans)
        spans = without_unread_data(elf, spans) if library.data_goes else spans
        spans = with_read(spans, touched)
    spans, gpu_code = locate_gpu_code(
        elf,
        spans,
        gpu,
        started=not stopped,
        touched=touched.tolist(),
    )
    traps = options.mode == Mode.ZERO
    spans = whole_pages(elf, spans, options.minimum_hole_bytes, traps)
    kept = _kept_bytes(elf, functions, spans)
    return Located(
        elf=elf,
        spans=spans,
        gpu=gpu_code,
        started=not stopped,
        patches=stop_patches(elf) if stopped else gpu_code.patches,
        functions_total=len(functions),
        functions_used=int(used.sum()),
        function_bytes_total=int(functions.size.sum()),
        function_bytes_kept=kept,
    )


def _whole(elf: Elf, functions: Functions, why: str) -> Located:
    """Return the result for a library that is left unchanged."""
    spans, gpu_code = locate_gpu_code(elf, left_as_it_is(elf, why), GpuScope(why_all=why))
    length = int(functions.size.sum())
    return Located(elf, spans, gpu_code, True, (), len(functions), len(functions), length, length)


def _kept_bytes(elf: Elf, functions: Functions, spans: Spans) -> int:
    """Return the bytes of functions in kept spans, for any reason."""
    starts = elf.offsets_of(functions.start.astype(np.int64))
    ends = starts + functions.size.astype(np.int64)
    lengths = np.where(spans.kept, spans.end - spans.start, 0)
    kept_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))

    def kept_up_to(offset: NDArray[np.int64]) -> NDArray[np.int64]:
        span = np.searchsorted(spans.end, offset, side="right").clip(max=spans.end.size - 1)
        inside: NDArray[np.int64] = kept_before[span] + np.where(
            spans.kept[span], offset - spans.start[span], 0
        )
        return inside

    return int((kept_up_to(ends) - kept_up_to(starts)).sum())
