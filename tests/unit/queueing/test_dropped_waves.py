"""What dropping tasks of low-priority jobs can give back to high-priority ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.queueing.phase_type import PhaseType, erlang
from trimtab.queueing.poisson_priority import Discipline, response_times


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.05, 0.9),
    st.floats(0.02, 0.98),
    st.floats(0.1, 10.0),
    st.floats(0.1, 1.0),
    st.integers(1, 12),
    st.integers(1, 12),
)
def test_shorter_low_jobs_leave_the_square_of_the_wait(
    load: float, share: float, high_s: float, factor: float, phases: int, of_high: int
) -> None:
    def jobs(mean_s: float, phases: int) -> PhaseType:
        return erlang(phases, phases / mean_s)

    high = jobs(high_s, of_high)
    rates = [load * share / high_s, load * (1 - share)]

    def response_s(low_jobs: PhaseType, discipline: Discipline) -> float:
        return response_times(rates, [high, low_jobs], discipline)[0].mean

    evicting = response_s(jobs(1.0, phases), Discipline.PREEMPTIVE_RESUME)
    waiting = response_s(jobs(1.0, phases), Discipline.NON_PREEMPTIVE)
    dropping = response_s(jobs(factor, phases), Discipline.NON_PREEMPTIVE)
    left_s, whole_s = dropping - evicting, waiting - evicting
    assert left_s == pytest.approx(factor**2 * whole_s, rel=1e-6, abs=1e-9)
