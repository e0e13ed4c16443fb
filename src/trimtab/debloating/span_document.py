"""Convert the spans of a library to their document, and back."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trimtab.binaries.rewriting.spans import SpanReason, Spans
from trimtab.debloating.gpu.elements import Decisions, ElementReason
from trimtab.debloating.gpu.gpu_code import LocatedGpuCode
from trimtab.errors import TrimtabError
from trimtab.records.library_spans import GpuCodeSpans, LibrarySpans, Row, SpanReasonText


def document_of(
    path: Path,
    name: str,
    spans: Spans,
    minimum_hole_bytes: int,
    *,
    sha256: str,
    started: bool = True,
    gpu: LocatedGpuCode | None = None,
) -> LibrarySpans:
    """Return the document of the spans of the library at `path`, `name` in its environment.

    Its file has the SHA-256 `sha256`. Pages are removed in runs of at least `minimum_hole_bytes`;
    `gpu` is the result for its GPU code.
    """
    return LibrarySpans(
        library=str(path),
        name=name,
        build_id=spans.build_id,
        sha256=sha256,
        note=spans.note,
        gpu_note="" if gpu is None else gpu.code.problem,
        started=started,
        size_bytes=spans.size_bytes,
        minimum_hole_bytes=minimum_hole_bytes,
        kept_bytes=spans.kept_bytes,
        removed_bytes=spans.removed_bytes,
        bytes_by_reason={reason.text: spans.bytes_of(reason) for reason in SpanReason},
        reasons=_in_words(SpanReason),
        spans=_rows(spans.start, spans.end, spans.reason),
        gpu_code=None if gpu is None or gpu.decisions is None else _gpu_code(gpu.decisions, gpu),
    )


def _gpu_code(decisions: Decisions, gpu: LocatedGpuCode) -> GpuCodeSpans:
    return GpuCodeSpans(
        reasons=_in_words(ElementReason),
        elements_by_reason={r.text: decisions.count_of(r) for r in ElementReason},
        bytes_by_reason={r.text: decisions.bytes_of(r) for r in ElementReason},
        kernels=sorted(decisions.kernels),
        elements=_rows(decisions.offset, decisions.end, decisions.reason),
        pruned_elements=gpu.pruned,
        placed=sorted(gpu.placed.items()),
        unused_kernels=dict(decisions.unused_kernels),
    )


def spans_about(name: str, path: Path) -> LibrarySpans:
    """Return the document in `path`; raises as reading does, and if it is not about `name`."""
    document = LibrarySpans.read(path)
    if document.name != name:
        raise TrimtabError(
            f"{path}: name: {document.name!r}, expected {name!r}; run the stage"
            f" `{document.stage}` again"
        )
    return document


def spans_of(document: LibrarySpans) -> Spans:
    """Return the spans in `document`; raises TrimtabError for reasons of another version."""
    if document.reasons != _in_words(SpanReason):
        raise TrimtabError(
            f"spans of {document.library}: other reasons than this trimtab's; run the stage"
            f" `{document.stage}` again"
        )
    rows = np.array(document.spans, np.int64)
    return Spans(rows[:, 1], rows[:, 2].astype(np.uint8), document.build_id, document.note)


def _in_words(reasons: Iterable[SpanReason | ElementReason]) -> list[SpanReasonText]:
    return [SpanReasonText(reason.text, reason.kept) for reason in reasons]


def _rows(start: NDArray[np.int64], end: NDArray[np.int64], reason: NDArray[np.uint8]) -> list[Row]:
    rows: list[Row] = np.column_stack((start, end, reason.astype(np.int64))).tolist()
    return rows
