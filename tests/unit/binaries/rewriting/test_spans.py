import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.binaries.rewriting.spans import Canvas, SpanReason, Spans
from trimtab.errors import UserError

reasons = st.sampled_from(list(SpanReason))
intervals = st.lists(st.integers(0, 60), max_size=8, unique=True).map(sorted)


@given(st.lists(st.tuples(intervals, reasons), max_size=6))
def test_painting_equals_painting_byte_by_byte(layers: list[tuple[list[int], SpanReason]]) -> None:
    canvas, expected = Canvas.of(60, SpanReason.DATA), np.full(60, SpanReason.DATA, np.uint8)
    for edges, reason in layers:
        start = np.array(edges[0 : len(edges) // 2 * 2 : 2], np.int64)
        end = np.array(edges[1::2], np.int64)
        canvas.paint(start, end, reason)
        for low, high in zip(start, end, strict=True):
            expected[low:high] = reason
    spans = Spans(canvas.end, canvas.reason)
    spans.validate(60)
    assert np.repeat(spans.reason, spans.end - spans.start).tolist() == expected.tolist()
    assert np.all(spans.reason[1:] != spans.reason[:-1])  # neighbours are merged
    assert spans.kept_bytes + spans.removed_bytes == 60
    assert spans.kept_bytes == sum(SpanReason(code).kept for code in expected.tolist())
    assert sum(spans.bytes_of(reason) for reason in SpanReason) == 60
    again = Spans.from_json(spans.to_json())
    assert (again.end.tolist(), again.reason.tolist()) == (
        spans.end.tolist(),
        spans.reason.tolist(),
    )


def document() -> dict[str, object]:
    return Spans(np.array([3, 9]), np.array([0, 2], np.uint8), "ab", "").to_json()


@pytest.mark.parametrize(
    "change",
    [
        {"spans": [[0, 3, 0], [4, 9, 2]]},
        {"spans": [[0, 3, 0], [3, 3, 2]]},
        {"spans": [[0, 3, 0], [3, 8, 2]]},
        {"spans": [[0, 3, 0], [3, 9, 200]]},
        {"spans": [[0, 3, 0], [3, 9, 257]]},
        {"spans": [[0, 3, 0], [3, 9, -1]]},
        {"spans": [[0, 3, 0], [3, 2**70, 1]]},
        {"spans": [[-4, -3, 0], [-3, 9, 1]]},
        {"spans": "text"},
        {"spans": []},
        {"spans": [[0, 3]]},
        {"reasons": []},
        {"size_bytes": None},
    ],
)
def test_documents_that_do_not_tile_a_file_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(UserError, match="spans"):
        Spans.from_json(document() | change)


@pytest.mark.parametrize("missing", ["spans", "reasons", "size_bytes", "build_id"])
def test_documents_without_a_key_are_refused(missing: str) -> None:
    with pytest.raises(UserError, match=missing):
        Spans.from_json({key: value for key, value in document().items() if key != missing})


def test_spans_of_another_file_are_refused() -> None:
    with pytest.raises(UserError, match="10 bytes"):
        Spans.from_json(document()).validate(10)


def test_documents_of_before_a_reason_was_added_are_read() -> None:
    older = document()
    older["reasons"] = older["reasons"][:-2]
    assert Spans.from_json(older).to_json() == document()
    older["reasons"] = older["reasons"][:2]  # fewer than its spans use
    with pytest.raises(UserError, match="another version"):
        Spans.from_json(older)
