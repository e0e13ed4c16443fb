"""The cross-check by zeus: told to be missing, or its window around a run."""

import importlib.util

import pytest

from trimtab.errors import UserError
from trimtab.profiling.meters.zeus import cross_check

INSTALLED = importlib.util.find_spec("zeus") is not None


@pytest.mark.skipif(INSTALLED, reason="zeus is installed")
def test_without_zeus_it_says_what_to_install() -> None:
    with pytest.raises(UserError, match=r" install '?zeus>="):
        cross_check(lambda: 1)


@pytest.mark.skipif(not INSTALLED, reason="zeus is missing: pip install zeus")
def test_with_zeus_the_window_is_around_the_action() -> None:
    result, energy = cross_check(lambda: sum(range(10**6)))
    assert result == 499999500000 and energy.duration_s > 0
