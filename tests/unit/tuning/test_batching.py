"""The best batch by hand, and in a plain simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.queueing.errors import UnstableQueueError
from trimtab.tuning.batching import Choice, MultiStream, ServerScenario, ServiceTimes, best_batch

# 10 ms to begin a batch and 1 ms a sample.
LINEAR = ServiceTimes({1: [0.011], 10: [0.020], 100: [0.110]})


def test_times_between_measured_sizes_are_by_proportion() -> None:
    assert LINEAR.of(10).mean() == pytest.approx(0.020)
    assert LINEAR.of(55).mean() == pytest.approx(0.065)
    assert ServiceTimes({4: [1.0], 8: [2.0]}).of(2).mean() == 1.0
    with pytest.raises(ValueError, match="at most 100"):
        LINEAR.of(101)


@pytest.mark.parametrize(
    "measured", [{}, {0: [1.0]}, {1: []}, {1: [0.0]}, {1: [float("nan")]}, {1: [float("inf")]}]
)
def test_times_that_are_none(measured: dict[int, list[float]]) -> None:
    with pytest.raises(ValueError, match="times"):
        ServiceTimes(measured)


def test_a_server_by_hand() -> None:
    """100 samples: in one batch all are done after 110 ms; in two of 50 after 60 and 120 ms."""
    server = ServerScenario(samples=100, period_s=0.5)
    assert server.response_s(100, LINEAR) == pytest.approx(0.110)
    assert server.response_s(50, LINEAR) == pytest.approx((0.060 + 0.120) / 2)
    # 40, 40 and 20: 50, 100 and 130 ms
    assert server.response_s(40, LINEAR) == pytest.approx(0.4 * 0.05 + 0.4 * 0.1 + 0.2 * 0.13)
    choice = best_batch(server, LINEAR, [1, 10, 25, 50, 100])
    # Four of 25 are done after 35, 70, 105 and 140 ms.
    assert choice == Choice(25, pytest.approx(0.0875), saturated=(1,))


def test_a_server_whose_queries_wait() -> None:
    """A query takes 1 or 5 s, every 4 s: by a plain recursion."""
    times = ServiceTimes({1: [1.0, 5.0]})
    drawn = np.random.default_rng(7).choice(times.of(1), 200_000)
    waiting_s = total_s = 0.0
    for time_s in drawn:
        total_s += waiting_s + time_s
        waiting_s = max(0.0, waiting_s + time_s - 4.0)
    response_s = ServerScenario(1, 4.0).response_s(1, times)
    assert response_s == pytest.approx(total_s / len(drawn), rel=0.05)


def test_streams_take_larger_batches_as_more_arrives() -> None:
    sizes = [1, 2, 4, 8, 16, 32]
    best = [best_batch(MultiStream(rate), LINEAR, sizes) for rate in (1, 60, 300)]
    assert best[0].saturated == best[1].saturated == ()
    assert best[2].saturated == (1, 2, 4)  # 8 take 18 ms: 444 a second
    assert 1 == best[0].size < best[1].size <= best[2].size


@given(st.floats(1, 2000), st.sampled_from([1, 2, 8, 32]))
def test_saturated_is_what_cannot_keep_up(rate: float, size: int) -> None:
    keeps_up = rate * LINEAR.of(size).mean() < size
    if 0.98 < rate * LINEAR.of(size).mean() / size < 1:
        return  # so close to 1 that no queue is long enough
    try:
        MultiStream(rate).response_s(size, LINEAR)
        assert keeps_up
    except UnstableQueueError:
        assert not keeps_up


def test_nothing_keeps_up() -> None:
    with pytest.raises(UnstableQueueError, match="batches of 1, 10: each is saturated"):
        best_batch(ServerScenario(100, 0.05), LINEAR, [10, 1])
