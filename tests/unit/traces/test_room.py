"""Which jobs of a recorded trace fit no node of a cluster."""

from collections import Counter

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from trimtab.traces.jobs import jobs_frame
from trimtab.traces.room import NO_ROOM, NodeSize, fitting

_SIZES = st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))


@given(st.lists(st.lists(_SIZES, min_size=1)), st.lists(_SIZES, min_size=1, max_size=3))
def test_each_job_fits_one_node_as_a_whole(
    chunks: list[list[tuple[int, int, int]]], nodes: list[tuple[int, int, int]]
) -> None:
    frames = [jobs_frame(range(len(rows)), 1.0, *zip(*rows, strict=True)) for rows in chunks]
    skipped = Counter[str]()
    found = [
        tuple(row)
        for frame in fitting(frames, [NodeSize(*node) for node in nodes], skipped)
        for row in frame[list(NodeSize._fields)].itertuples(index=False)
    ]
    jobs = [job for rows in chunks for job in rows]
    fit = [
        job
        for job in jobs
        if any(all(asked <= has for asked, has in zip(job, node, strict=True)) for node in nodes)
    ]
    assert found == fit and skipped[NO_ROOM] == len(jobs) - len(fit)


def test_nothing_is_left_of_nothing() -> None:
    assert list(fitting(iter([pd.DataFrame()][:0]), [NodeSize(1, 1, 1)], Counter())) == []


def test_a_job_of_one_and_a_half_gpus_needs_two() -> None:
    frame = jobs_frame(range(4), 1.0, 1, [600, 1000, 1001, 1500], 1)
    for gpu_milli, fit in ((1000, [600, 1000]), (2000, [600, 1000, 1001, 1500])):
        (found,) = fitting([frame], [NodeSize(1, gpu_milli, 1)], Counter())
        assert found["gpu_milli"].tolist() == fit
