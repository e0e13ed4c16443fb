import math

import pytest
from closed_forms import (
    cobham,
    mm1_mean,
    mm1_quantile,
    pollaczek_khinchine,
    preemptive_mm1,
    preemptive_repeat,
    preemptive_resume,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from phase_types import mixture

from trimtab.queueing.errors import ModelError, UnstableQueueError
from trimtab.queueing.phase_type import (
    PhaseType,
    erlang,
    exponential,
    fit_two_moments,
    hyperexponential,
)


def test_textbook_values() -> None:
    assert mm1_mean(0.8, 1.0) == pytest.approx(5)
    assert mm1_quantile(0.5, 1.0, 0.95) == pytest.approx(2 * math.log(20))
    # M/M/1's waiting time: E[W] = rho / (mu - lambda), E[W^2] = 2 rho / (mu - lambda)^2
    assert pollaczek_khinchine(0.8, exponential(1.0)) == pytest.approx((4, 40), rel=1e-12)
    # two classes, lambda 0.2 and 0.4, one service rate 1
    services = [exponential(1.0)] * 2
    assert cobham([0.2, 0.4], services) == pytest.approx([1.75, 2.875])
    assert preemptive_mm1([0.2, 0.4], 1.0) == pytest.approx([1.25, 3.125])
    assert preemptive_resume([0.2, 0.4], services) == pytest.approx([1.25, 3.125])


def test_preemptive_repeat_of_two_classes_by_gavers_formula() -> None:
    """Known values: loads 0.2 of the important and 0.4 of the other class, mean service 1."""
    low = preemptive_repeat([0.2, 0.4], [erlang(10, 10.0)] * 2)[1]
    assert low == pytest.approx(3.0552, abs=5e-5)
    low = preemptive_repeat([0.2, 0.4], [exponential(1.0)] * 2)[1]
    assert low == pytest.approx(7.257, abs=5e-4)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=5), st.floats(0.1, 0.95))
def test_of_exponential_services_preemptive_resume_is_the_special_case(
    weights: list[float], load: float
) -> None:
    rates = [2.0 * load * w / sum(weights) for w in weights]
    expected = preemptive_mm1(rates, 2.0)
    assert preemptive_resume(rates, [exponential(2.0)] * len(rates)) == pytest.approx(
        expected, rel=1e-10
    )


@given(
    st.lists(
        st.tuples(st.floats(0.05, 1), st.floats(0.1, 5), st.floats(0.1, 8)), min_size=1, max_size=5
    ),
    st.floats(0.1, 0.95),
)
def test_conservation_of_work(classes: list[tuple[float, float, float]], load: float) -> None:
    """The mean work in the system does not depend on the order: Kleinrock's law."""
    services: list[PhaseType] = [fit_two_moments(mean, scv) for _, mean, scv in classes]
    offered = sum(w * b.mean for (w, _, _), b in zip(classes, services, strict=True))
    rates = [load * w / offered for w, _, _ in classes]
    total = sum(rates)
    together = mixture([r / total for r in rates], services)
    waiting, _ = pollaczek_khinchine(total, together)
    by_priority = sum(
        r * b.mean * (response - b.mean)
        for r, b, response in zip(rates, services, cobham(rates, services), strict=True)
    )
    assert by_priority == pytest.approx(load * waiting, rel=1e-9)


@given(st.floats(0.1, 0.9), st.floats(0.1, 8))
def test_the_most_important_class_does_not_see_the_others(load: float, scv: float) -> None:
    service = fit_two_moments(1.0, scv)
    alone = pollaczek_khinchine(load, service)[0] + 1.0
    assume(load < 0.85)
    rates, services = [load, 0.05], [service, erlang(30, 40.0)]
    assert preemptive_resume(rates, services)[0] == pytest.approx(alone, rel=1e-10)
    assert preemptive_repeat([load], [service])[0] == pytest.approx(alone, rel=1e-10)


def test_repeating_of_rare_interruptions_is_resuming() -> None:
    services = [erlang(3, 3.0), erlang(4, 8.0)]
    rates = [1e-4, 0.8]
    repeat, resume = preemptive_repeat(rates, services), preemptive_resume(rates, services)
    assert repeat[0] == pytest.approx(resume[0], rel=1e-12)
    assert 0 < repeat[1] / resume[1] - 1 < 2e-3


def test_repeating_always_takes_longer_than_resuming() -> None:
    services = [erlang(3, 6.0), erlang(5, 5.0), erlang(2, 3.0)]
    rates = [0.15, 0.05, 0.2]
    repeat, resume = preemptive_repeat(rates, services), preemptive_resume(rates, services)
    assert repeat[0] == pytest.approx(resume[0])
    assert repeat[1] > resume[1] and repeat[2] > resume[2]


@pytest.mark.parametrize("formula", [cobham, preemptive_resume, preemptive_repeat])
def test_too_much_work(formula) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnstableQueueError, match="lower the arrival rates"):
        formula([0.5, 0.6], [exponential(1.0), exponential(1.0)])


def test_a_mean_that_diverges() -> None:
    # E[exp(2 a S)] is infinite where the important class comes at half the service rate.
    services = [exponential(100.0), exponential(1.0)]
    assert preemptive_repeat([0.49, 0.001], services)[1] < 100
    with pytest.raises(UnstableQueueError, match="class 1 is infinite"):
        preemptive_repeat([0.5, 0.001], services)
    with pytest.raises(UnstableQueueError, match="class 1 is infinite"):
        preemptive_repeat([1.0, 0.001], services)
    with pytest.raises(UnstableQueueError, match=r"the load is 1\.2"):
        mm1_mean(1.2, 1.0)
    with pytest.raises(UnstableQueueError):
        pollaczek_khinchine(1.0, exponential(1.0))
    with pytest.raises(ModelError):
        mm1_mean(-0.2, 1.0)
    with pytest.raises(ModelError):
        preemptive_resume([math.nan], [hyperexponential([1.0], [1.0])])
