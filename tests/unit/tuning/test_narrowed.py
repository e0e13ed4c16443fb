"""Spaces made narrower."""

import pytest
from spaces import SMALL, choices, tuning

from trimtab.config.groups.tuning import Kind
from trimtab.errors import UserError
from trimtab.tuning.narrowed import with_defaults, within_cores


def test_fewer_cores_with_a_default_that_is_there() -> None:
    whole = tuning(**SMALL)
    fewer = within_cores(whole, Kind.SYSTEM, 2)
    assert (fewer.system["cores"].high, fewer.system["cores"].default) == (2, 2)
    assert fewer.forbidden == whole.forbidden and fewer.model == whole.model
    assert within_cores(whole, Kind.SYSTEM, 9) == whole
    assert within_cores(whole, Kind.INFERENCE, 1) == whole
    listed = tuning(
        system={"cores": choices(4, 2, 1), "gpus": choices(0, 1)},
        forbidden=[{"system.cores": 2, "system.gpus": 1}],
    )
    one = within_cores(listed, Kind.SYSTEM, 1)
    assert one.system["cores"].choices == [1] and one.forbidden == []
    assert within_cores(listed, Kind.SYSTEM, 3).system["cores"].default == 2


def test_more_than_there_are() -> None:
    asked = tuning(inference={"cores": choices(4, 8), "batch_size": choices(1)})
    with pytest.raises(UserError, match=r"tuning.inference.cores: at least 4 given, .* only 2"):
        within_cores(asked, Kind.INFERENCE, 2)


def test_what_was_found_are_the_defaults() -> None:
    found = {"model.layers": 3, "model.dropout": 0.25, "training.batch_size": 128}
    completed = with_defaults(tuning(**SMALL), found).completed({})
    assert completed == {**found, "training.learning_rate": 0.01, "system.cores": 4}
