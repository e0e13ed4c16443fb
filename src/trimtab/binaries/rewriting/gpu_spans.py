"""The spans of a file with rewritten regions of GPU code."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from trimtab.binaries.gpu.fatbin import FatbinRegion, GpuCode
from trimtab.binaries.rewriting.regions import RewrittenGpuCode
from trimtab.binaries.rewriting.spans import GPU_REMOVED, Canvas, SpanReason, Spans


def with_gpu_code(
    spans: Spans, gpu_code: GpuCode, reasons: Mapping[int, SpanReason], rewritten: RewrittenGpuCode
) -> Spans:
    """Return `spans` with GPU code painted over data: kept bytes at their new places.

    `reasons` gives the reason of every element and frame by its offset. Listed elements come first
    in a region; an unused one keeps its header, as the driver reads all headers. The bytes after
    them get the reasons of the removed elements, in proportion. Bytes freed by pruning, and zeros
    between such regions, count as unused.
    """
    free = dict(zip(rewritten.free_end.tolist(), rewritten.free_start.tolist(), strict=True))
    rows: list[tuple[int, int, SpanReason]] = []
    for region in gpu_code.regions:
        rows += _rows(region, free.get(region.end, region.end), reasons, rewritten.placed)
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
    region: FatbinRegion,
    free_start: int,
    reasons: Mapping[int, SpanReason],
    placed: Mapping[int, int],
) -> list[tuple[int, int, SpanReason]]:
    rows = []
    at = region.offset
    for element in region.elements:
        if element.offset in placed and reasons[element.offset] in GPU_REMOVED:
            begin = placed[element.offset] + element.header_bytes
            end = placed[element.offset] + element.end - element.offset
            rows += [(at, begin, SpanReason.GPU_USED), (begin, end, SpanReason.GPU_UNUSED)]
            at = end
    rows.append((at, free_start, SpanReason.GPU_USED))
    rows = [row for row in rows if row[1] > row[0]]
    at = free_start
    gone = [element for element in region.elements if element.offset not in placed]
    for reason in GPU_REMOVED:
        removed = (e for e in gone if reasons[e.offset] == reason)
        length = sum(element.end - element.offset for element in removed)
        end = min(at + length, region.end)
        if end > at:
            rows.append((at, end, reason))
        at = end
    if at < region.end:
        rows.append((at, region.end, SpanReason.GPU_UNUSED))
    return rows
