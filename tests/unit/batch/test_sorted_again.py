"""Waiting jobs are sorted by tier, order and slot, whatever order they were in."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trimtab.batch.policies.ordering import sorted_again

jobs = st.lists(
    st.tuples(st.integers(0, 99), st.sampled_from([-1.0, 0.0, 0.5, np.inf]), st.integers(0, 2)),
    unique_by=lambda job: job[0],
    min_size=1,
)


@given(jobs=jobs)
def test_as_python_sorts(jobs: list[tuple[int, float, int]]) -> None:
    slots, order, tier = map(np.array, zip(*jobs, strict=True))
    by_order = sorted(range(len(jobs)), key=lambda at: (order[at], slots[at]))
    assert sorted_again(slots, order, None).tolist() == by_order
    by_tier = sorted(by_order, key=lambda at: -tier[at])
    assert sorted_again(slots, order, tier).tolist() == by_tier
