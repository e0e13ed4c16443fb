"""What is held out of the training data: a sixth, by the seed, whatever else is chosen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.workloads.data import InputError, Split, held_out


@given(samples=st.integers(2, 500), seed=st.integers(0, 2**32))
def test_both_parts_are_the_whole_in_order_and_neither_is_empty(samples: int, seed: int) -> None:
    numbers = np.arange(samples)
    training, validation = Split(numbers[:, None], numbers).held_out(seed)
    assert sorted([*training.labels, *validation.labels]) == numbers.tolist()
    assert len(validation) == max(1, samples // 6) and len(training) >= 1
    for part in (training, validation):
        assert (np.diff(part.labels) > 0).all()
        assert np.array_equal(part.inputs[:, 0], part.labels)
    assert np.array_equal(held_out(samples, seed), held_out(samples, seed))


def test_another_seed_holds_out_others() -> None:
    assert (held_out(600, 1) != held_out(600, 2)).any()


@pytest.mark.parametrize("samples", [0, 1])
def test_too_few_are_refused(samples: int) -> None:
    with pytest.raises(InputError, match=f"{samples} training samples; expected 2 or more"):
        held_out(samples, 0)
