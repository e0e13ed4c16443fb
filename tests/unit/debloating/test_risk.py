"""The estimate and the bound of what is left, against the distributions that they are about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from trimtab.debloating.risk import RunHistory, upper_bound
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.settling import Settling, SlimRun


def piece(address: int) -> RemovedCall:
    return RemovedCall("lib/x.so", address, f"f{address}", 1)


@given(st.integers(1, 60), st.integers(0, 60))
def test_at_the_bound_one_series_in_twenty_has_no_more_hits(trials: int, hits: int) -> None:
    hits = min(hits, trials)
    bound = upper_bound(hits, trials)
    if hits == trials:
        assert bound == 1
    else:
        assert binom.cdf(hits, trials, bound) == pytest.approx(0.05)
    if hits == 0:
        assert bound == pytest.approx(1 - 0.05 ** (1 / trials))


@given(st.integers(1, 40), st.floats(0.001, 0.999))
def test_the_bound_holds_in_nineteen_of_twenty_series(trials: int, probability: float) -> None:
    holds = sum(
        binom.pmf(hits, trials, probability)
        for hits in range(trials + 1)
        if upper_bound(hits, trials) >= probability
    )
    assert holds >= 0.95 - 1e-9


def test_without_a_run_nothing_is_known() -> None:
    risk = RunHistory().risk_of("w")
    assert (risk.runs, risk.estimate, risk.bound) == (0, None, 1)


def test_a_run_counts_that_asked_for_what_no_other_did() -> None:
    history = RunHistory()
    assert history.add("w", "", [piece(1), piece(2)]) == {0, 1}
    assert history.add("w", "", [piece(2), piece(3)]) == {1, 2}
    history.add("w", "", [piece(2)])
    history.add("w", "", [])
    risk = history.risk_of("w")
    assert (risk.runs, risk.runs_of_their_own, risk.estimate) == (4, 2, 0.5)
    assert (risk.runs_as_delivered, risk.runs_with_misses) == (4, 3)


def test_another_workload_that_asks_for_it_counts_too_and_another_build_does_not() -> None:
    settling = Settling(
        target="t", hardware="h", clean_runs=1, builds=2, settled=True, missed=[piece(7)],
        runs=[SlimRun("w", "", 0, [0]), SlimRun("w", "", 1), SlimRun("v", "", 1)],
    )  # fmt: skip
    history = RunHistory(settling)
    assert history.risk_of("w").runs_of_their_own == 1
    assert history.add("v", "", [piece(7), piece(8)]) == {0, 1}
    risk = history.risk_of("w")
    assert (risk.runs, risk.runs_of_their_own, risk.runs_as_delivered) == (2, 0, 1)
    assert risk.bound == pytest.approx(0.95)
    assert history.risk_of("v").runs_with_misses == 1
