import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.binaries.rewriting.spans import Canvas, SpanReason, Spans, joined
from trimtab.errors import UserError

reasons = st.sampled_from(list(SpanReason))
intervals = st.lists(st.integers(0, 60), max_size=8, unique=True).map(sorted)


overs = st.lists(reasons, max_size=4) | st.just(list(SpanReason))


@given(st.lists(st.tuples(intervals, reasons, overs), max_size=6))
def test_painting_equals_painting_byte_by_byte(
    layers: list[tuple[list[int], SpanReason, list[SpanReason]]],
) -> None:
    canvas, expected = Canvas.of(60, SpanReason.DATA), np.full(60, SpanReason.DATA, np.uint8)
    for edges, reason, over in layers:
        start = np.array(edges[0 : len(edges) // 2 * 2 : 2], np.int64)
        end = np.array(edges[1::2], np.int64)
        canvas.paint(start, end, reason, over)
        for low, high in zip(start, end, strict=True):
            expected[low:high][np.isin(expected[low:high], over)] = reason
    spans = Spans(canvas.end, canvas.reason)
    spans.validate(60)
    assert np.repeat(spans.reason, spans.end - spans.start).tolist() == expected.tolist()
    assert np.all(spans.reason[1:] != spans.reason[:-1])  # neighbours are merged
    assert spans.kept_bytes + spans.removed_bytes == 60
    assert spans.kept_bytes == sum(SpanReason(code).kept for code in expected.tolist())
    assert sum(spans.bytes_of(reason) for reason in SpanReason) == 60


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(-5, 60)), max_size=9))
def test_joined_intervals_hold_the_same_bytes(pairs: list[tuple[int, int]]) -> None:
    low, high = joined(*np.array(pairs, np.int64).reshape(-1, 2).T)
    held = [byte for start, end in zip(low, high, strict=True) for byte in range(start, end)]
    assert held == sorted({byte for start, end in pairs for byte in range(start, end)})
    assert np.all(low[1:] > high[:-1]) and np.all(low < high)


@pytest.mark.parametrize("end", [[3, 9], [3, 3, 10], [0, 10], [4, 2, 10]])
def test_spans_that_do_not_tile_a_file_are_refused(end: list[int]) -> None:
    spans = Spans(np.array(end), np.zeros(len(end), np.uint8))
    with pytest.raises(UserError, match="10 bytes"):
        spans.validate(10)
