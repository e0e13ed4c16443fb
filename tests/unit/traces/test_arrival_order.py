"""Sorting in memory and in runs on disk gives what one stable sort gives."""

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.traces.arrival_order import sorted_by_arrival
from trimtab.traces.jobs import rechunked


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.integers(0, 8), max_size=12), max_size=8),
    st.integers(1, 20),
    st.integers(1, 5),
)
def test_runs_are_merged_as_one_stable_sort(
    arrivals: list[list[int]], rows_in_memory: int, rows_per_chunk: int
) -> None:
    flat = pd.DataFrame(
        {"arrival_s": [float(a) for frame in arrivals for a in frame]},
    ).reset_index(names="number")
    frames, begin = [], 0
    for frame in arrivals:
        frames.append(flat.iloc[begin : begin + len(frame)])
        begin += len(frame)
    merged = list(sorted_by_arrival(frames, rows_in_memory, rows_per_chunk))
    expected = flat.sort_values("arrival_s", kind="stable", ignore_index=True)
    found = pd.concat(merged, ignore_index=True) if merged else expected.iloc[:0]
    pd.testing.assert_frame_equal(found, expected)


@given(st.lists(st.integers(0, 9)), st.integers(1, 7))
def test_rechunked_keeps_rows_and_fills_chunks(lengths: list[int], rows: int) -> None:
    numbers = iter(range(1000))
    frames = [pd.DataFrame({"n": [next(numbers) for _ in range(length)]}) for length in lengths]
    chunks = list(rechunked(frames, rows))
    assert [n for chunk in chunks for n in chunk["n"]] == list(range(sum(lengths)))
    assert all(len(chunk) == rows for chunk in chunks[:-1])
    assert all(0 < len(chunk) <= rows for chunk in chunks)


def test_an_unread_rest_leaves_no_files_behind() -> None:
    frames = [pd.DataFrame({"arrival_s": [3.0, 1.0, 2.0]})] * 4
    rows = sorted_by_arrival(frames, rows_in_memory=3, rows_per_chunk=1)
    assert next(rows)["arrival_s"].tolist() == [1.0, 1.0, 1.0, 1.0]
    rows.close()
