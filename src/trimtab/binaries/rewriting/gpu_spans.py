"""GPU code as spans of a file whose regions were rewritten."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from trimtab.binaries.gpu.fatbin import GpuCode, Region
from trimtab.binaries.rewriting.regions import RewrittenGpuCode
from trimtab.binaries.rewriting.spans import GPU_REMOVED, Canvas, SpanReason, Spans


def with_gpu_code(
    spans: Spans, gpu_code: GpuCode, reasons: Mapping[int, SpanReason], rewritten: RewrittenGpuCode
) -> Spans:
    """Return `spans` with GPU code painted over data: kept bytes where they are written.

    `reasons` gives the reason of every element and frame by its offset. In a region the kept
    elements come first; the bytes behind them are shared out by what the removed ones had as
    reasons. What pruning freed, a header without elements and zeros between such regions count
    as unused.
    """
    free = dict(zip(rewritten.free_end.tolist(), rewritten.free_start.tolist(), strict=True))
    rows: list[tuple[int, int, SpanReason]] = []
    for region in gpu_code.regions:
        rows += _rows(region, free.get(region.end, region.end), reasons)
    rows += [(frame.offset, frame.end, reasons[frame.offset]) for frame in gpu_code.frames]
    padding = (rewritten.padding_start.tolist(), rewritten.padding_end.tolist())
    rows += [(start, end, SpanReason.GPU_UNUSED) for start, end in zip(*padding, strict=True)]
    if not rows:
        return spans
    start, end, codes = np.array(sorted(rows), np.int64).T
    canvas = Canvas(spans.end, spans.reason)
    canvas.paint(start, end, codes.astype(np.uint8))
    return replace(spans, end=canvas.end, reason=canvas.reason)


def _rows(
    region: Region, free_start: int, reasons: Mapping[int, SpanReason]
) -> list[tuple[int, int, SpanReason]]:
    rows = [(region.offset, free_start, SpanReason.GPU_USED)] if free_start > region.offset else []
    at = free_start
    for reason in GPU_REMOVED:
        removed = (e for e in region.elements if reasons[e.offset] == reason)
        length = sum(element.end - element.offset for element in removed)
        end = min(at + length, region.end)
        if end > at:
            rows.append((at, end, reason))
        at = end
    if at < region.end:
        rows.append((at, region.end, SpanReason.GPU_UNUSED))
    return rows
