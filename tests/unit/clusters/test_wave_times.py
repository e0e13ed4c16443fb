"""Jobs of waves: as many as their tasks need, each of the given phase-type time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from trimtab.clusters.round_times import service_times
from trimtab.clusters.rounds import RoundServiceTimes
from trimtab.clusters.waves import WavePhases
from trimtab.queueing.phase_type import PhaseType, erlang, fit_two_moments

LOOPS = PhaseType(
    np.array([0.2, 0.0, 0.8]),
    np.array([[-3.0, 2.0, 1.0], [0.5, -1.0, 0.0], [0.0, 4.0, -5.0]]),
)
TIMES = [LOOPS, erlang(4, 2.0), fit_two_moments(3.0, 6.0)]


def phases(time: PhaseType) -> WavePhases:
    return WavePhases(tuple(time.alpha), tuple(map(tuple, time.matrix)))


def drawn_s(
    rounds: RoundServiceTimes, maps: int, reduces: int, slots: int, drop: float = 0.0
) -> NDArray[np.float64]:
    jobs = 20_000
    times_s, _ = service_times(
        rounds, 5, np.arange(jobs), *(np.full(jobs, n) for n in (maps, reduces, slots)), drop
    )
    return times_s


@pytest.mark.parametrize("time", TIMES)
def test_a_wave_has_its_phases_distribution(time: PhaseType) -> None:
    rounds = RoundServiceTimes(0.0, 0.0, 0.0, 0.0, map_wave=phases(time))
    times_s = drawn_s(rounds, 20, 0, 20)
    assert stats.kstest(times_s, time.cdf).pvalue > 1e-3
    again_s = drawn_s(rounds, 20, 0, 20)
    assert (times_s == again_s).all()


@pytest.mark.parametrize("time", TIMES)
def test_waves_are_independent(time: PhaseType) -> None:
    reduce = erlang(2, 1.0)
    rounds = RoundServiceTimes(
        7.0, 0.0, 2.0, 0.0, "deterministic", map_stages=2,
        map_wave=phases(time), reduce_wave=phases(reduce),
    )  # fmt: skip
    # 41 tasks of which half are dropped twice are 21 and 11: two waves and one.
    times_s = drawn_s(rounds, 41, 21, 20, 0.5)
    jobs = len(times_s)
    mean_s = 7 + 3 * time.mean + 2 + reduce.mean
    variance = 3 * time.scv * time.mean**2 + reduce.scv * reduce.mean**2
    assert times_s.mean() == pytest.approx(mean_s, abs=4 * np.sqrt(variance / jobs))
    assert times_s.var() == pytest.approx(variance, rel=0.12)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 90), st.integers(1, 30), st.integers(0, 10_000))
def test_dropping_takes_whole_waves_away(maps: int, slots: int, job: int) -> None:
    rounds = RoundServiceTimes(0.0, 0.0, 0.0, 0.0, map_wave=phases(LOOPS))

    def time_s(tasks: int, drop: float) -> float:
        columns = (np.array([n]) for n in (job, tasks, 0, slots))
        return float(service_times(rounds, 5, *columns, drop)[0][0])

    kept = maps - maps // 2
    # The waves that are left have the times that they have in the whole job.
    assert time_s(maps, 0.5) == time_s(kept, 0.0) <= time_s(maps, 0.0)
    waves = -(-maps // slots)
    assert (time_s(maps, 0.5) < time_s(maps, 0.0)) == (-(-kept // slots) < waves)
