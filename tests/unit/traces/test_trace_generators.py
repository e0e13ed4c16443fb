"""Synthetic traces: exact rates, their distributions, and the same trace however it is cut."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg, stats

from trimtab.errors import UserError
from trimtab.queueing.mmap import MarkedArrivals
from trimtab.traces.distribution import Deterministic, Erlang, Exponential, Uniform
from trimtab.traces.generators import (
    RoundCounts,
    SyntheticClass,
    TaskCounts,
    bursts,
    marked_markovian,
    poisson,
    rates_for_load,
)
from trimtab.traces.table import check_trace

ROUNDS = RoundCounts(TaskCounts((50, 100), (0.75, 0.25)), TaskCounts((20,), (1.0,)))
LOW = SyntheticClass("low", 0, 20_000, 0, 2**30, Erlang(2.0, 10))
HIGH = SyntheticClass("high", 1, 20_000, 1000, 2**31, Exponential(1.0))
STAGED = SyntheticClass("staged", 2, 4000, 0, 0, ROUNDS)
CLASSES = [LOW, HIGH, STAGED]
D0 = [[-1.0, 0.1], [0.3, -6.0]]
D1 = [[0.5, 0.1], [1.0, 0.7]]
D2 = [[0.3, 0.0], [1.0, 3.0]]


def joined(chunks: Iterator[pd.DataFrame]) -> pd.DataFrame:
    trace = pd.concat(chunks, ignore_index=True)
    check_trace("trace", trace)
    assert set(trace["job_class"]) <= {one.name for one in CLASSES}
    return trace


def test_poisson_counts_gaps_and_classes() -> None:
    rates, horizon_s = np.array([9.0, 1.0, 2.5]), 10_000.0
    trace = joined(poisson(CLASSES, rates.tolist(), seed=5, jobs=150_000))
    assert trace["arrival_s"].iloc[-1] > horizon_s
    trace = trace[trace["arrival_s"] < horizon_s]
    counts = trace["job_class"].value_counts()
    for one, rate in zip(CLASSES, rates, strict=True):
        # The exact two-sided test of a Poisson count.
        count = counts[one.name]
        law = stats.poisson(rate * horizon_s)
        assert 2 * min(law.cdf(count), law.sf(count - 1)) > 0.001
        # Each stream by itself is Poisson: superposition of independent ones.
        gaps = np.diff(trace["arrival_s"][trace["job_class"] == one.name])
        assert stats.kstest(gaps, stats.expon(scale=1 / rate).cdf).pvalue > 0.001
    # Classes follow each other independently.
    codes = trace["job_class"].astype("category").cat.codes.to_numpy()
    pairs = np.zeros((3, 3))
    np.add.at(pairs, (codes[:-1], codes[1:]), 1)
    assert stats.chi2_contingency(pairs).pvalue > 0.001


def test_demands_and_work_are_those_of_the_class() -> None:
    trace = joined(poisson(CLASSES, [1, 1, 1], seed=2, jobs=30_000))
    assert len(trace) == 30_000
    for one in CLASSES:
        mine = trace[trace["job_class"] == one.name]
        for name in ("priority", "cpu_milli", "gpu_milli", "memory_bytes"):
            assert (mine[name] == getattr(one, name)).all()
    low, high, staged = (trace[trace["job_class"] == one.name] for one in CLASSES)
    assert stats.kstest(low["work_s"], stats.gamma(10, scale=0.2).cdf).pvalue > 0.001
    assert stats.kstest(high["work_s"], stats.expon().cdf).pvalue > 0.001
    assert not pd.concat([low, high])[["map_tasks", "reduce_tasks"]].any(axis=None)
    assert staged["work_s"].isna().all() and (staged["reduce_tasks"] == 20).all()
    of_100 = int((staged["map_tasks"] == 100).sum())
    assert set(staged["map_tasks"]) == {50, 100}
    assert stats.binomtest(of_100, len(staged), 0.25).pvalue > 0.001


GENERATORS: dict[str, Callable[..., Iterator[pd.DataFrame]]] = {
    "poisson": lambda **how: poisson(CLASSES, [3.0, 1.0, 0.5], **how),
    "marked": lambda **how: marked_markovian([LOW, STAGED], D0, [D1, D2], **how),
    "bursts": lambda seed, jobs, **how: bursts(CLASSES, [0.5, 0.25, 0.25], seed, jobs, **how),
}


@pytest.mark.parametrize("name", GENERATORS)
@settings(max_examples=12)
@given(st.integers(1, 140_000), st.integers(0, 5))
def test_the_same_trace_in_chunks_of_any_size(name: str, rows: int, seed: int) -> None:
    generate = GENERATORS[name]
    jobs = min(70_000, 400 * rows)
    expected = joined(generate(seed=seed, jobs=jobs))
    chunks = list(generate(seed=seed, jobs=jobs, rows_per_chunk=rows))
    assert [len(chunk) for chunk in chunks[:-1]] == [rows] * (len(chunks) - 1)
    pd.testing.assert_frame_equal(pd.concat(chunks, ignore_index=True), expected)
    assert not expected.equals(joined(generate(seed=seed + 1, jobs=jobs)))


@pytest.mark.parametrize("name", ["poisson", "marked"])
def test_a_short_trace_begins_a_long_one(name: str) -> None:
    generate = GENERATORS[name]
    long = joined(generate(seed=3, jobs=140_000))
    for jobs in (1, 65_536, 65_537, 100_000):
        short = joined(generate(seed=3, jobs=jobs))
        pd.testing.assert_frame_equal(short, long.iloc[:jobs])


def test_marked_markovian_rates_and_gaps() -> None:
    d0, d1, d2 = np.array(D0), np.array(D1), np.array(D2)
    # The stationary state by another way: the left null vector of the generator.
    null = linalg.null_space((d0 + d1 + d2).T)[:, 0]
    phases = null / null.sum()
    rates = MarkedArrivals(d0, np.stack([d1, d2])).rates
    np.testing.assert_allclose(rates, [phases @ d1.sum(1), phases @ d2.sum(1)], rtol=1e-12)

    trace = joined(marked_markovian([LOW, HIGH], D0, [D1, D2], seed=11, jobs=400_000))
    arrival_s = trace["arrival_s"].to_numpy()
    # Counts are asymptotically normal, so batch means give an interval that holds.
    batches = np.histogram(arrival_s, np.linspace(0, arrival_s[-1], 201))[0]
    batch_s = arrival_s[-1] / 200
    half = stats.t(199).ppf(0.9995) * batches.std(ddof=1) / np.sqrt(200) / batch_s
    assert abs(batches.mean() / batch_s - rates.sum()) < half
    is_high = (trace["job_class"] == "high").to_numpy()
    shares = is_high.reshape(200, -1).mean(axis=1)
    half = stats.t(199).ppf(0.9995) * shares.std(ddof=1) / np.sqrt(200)
    assert abs(shares.mean() - rates[1] / rates.sum()) < half

    # A gap between arrivals is phase-type from the state after an arrival: its distribution.
    after = linalg.null_space((np.linalg.inv(-d0) @ (d1 + d2) - np.eye(2)).T)[:, 0]
    after = after / after.sum()
    gaps = np.diff(arrival_s)[::50]  # far enough apart to be independent

    def cdf(times_s: np.ndarray) -> np.ndarray:
        return np.array([1 - after @ linalg.expm(d0 * t) @ np.ones(2) for t in times_s])

    assert stats.kstest(gaps[:3000], cdf).pvalue > 0.001


def test_one_state_is_the_poisson_process() -> None:
    trace = joined(marked_markovian([LOW, HIGH], [[-4.0]], [[[3.0]], [[1.0]]], 1, jobs=20_000))
    gaps = np.diff(trace["arrival_s"], prepend=0.0)
    assert stats.kstest(gaps, stats.expon(scale=0.25).cdf).pvalue > 0.001


def test_bursts_of_the_thesis() -> None:
    task = SyntheticClass("low", 0, 2000, 0, 2**28, Uniform(500 * 0.1, 1000 * 0.1))
    trace = joined(bursts([task], [1.0], seed=0))
    arrival_s = trace["arrival_s"].to_numpy()
    assert len(trace) == 480
    window = (arrival_s // 150).astype(int)
    assert np.bincount(window).tolist() == [120] * 4
    assert trace["work_s"].between(50, 100).all()
    # Within its window, a time is the mean of two uniform ones: triangular.
    triangular = stats.triang(0.5, scale=150).cdf
    assert stats.kstest(arrival_s % 150, triangular).pvalue > 0.001
    # Four bursts: more arrive in the middle half of a window than outside it.
    middle = (np.abs(arrival_s % 150 - 75) < 37.5).sum()
    assert stats.binomtest(int(middle), 480, 0.5, alternative="greater").pvalue < 0.001


def test_bursts_of_uneven_numbers() -> None:
    trace = joined(bursts([LOW, HIGH], [0.5, 0.5], seed=0, jobs=10, count=3, span_s=30.0))
    assert np.bincount((trace["arrival_s"] // 10).astype(int)).tolist() == [4, 3, 3]


@given(
    st.floats(0.01, 3),
    st.lists(st.tuples(st.floats(0.01, 1e4), st.floats(0.01, 100)), min_size=1, max_size=6),
)
def test_rates_for_load(load: float, classes: list[tuple[float, float]]) -> None:
    service_s, ratio = map(np.array, zip(*classes, strict=True))
    rates = rates_for_load(load, service_s.tolist(), ratio.tolist())
    assert rates @ service_s == pytest.approx(load)
    np.testing.assert_allclose(rates / rates.sum(), ratio / ratio.sum())


def test_the_load_of_a_generated_trace() -> None:
    rates = rates_for_load(0.8, [2.0, 1.0], [9, 1])
    trace = joined(poisson([LOW, HIGH], rates.tolist(), seed=4, jobs=100_000))
    load = trace["work_s"].sum() / trace["arrival_s"].iloc[-1]
    # Of work / time: relative variance (1 + scv) / n from a compound Poisson process, about.
    assert load == pytest.approx(0.8, rel=4 * np.sqrt(2 / 100_000))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: poisson([LOW], [1.0], 1, jobs=0), "expected more than 0"),
        (lambda: poisson([LOW], [1.0, 2.0], 1, jobs=1), "1 classes, 2 rates"),
        (lambda: poisson([LOW], [-1.0], 1, jobs=1), "expected 0 or more, not all 0"),
        (lambda: poisson([LOW], [0.0], 1, jobs=1), "expected 0 or more, not all 0"),
        (lambda: poisson([LOW], [np.nan], 1, jobs=1), "expected 0 or more, not all 0"),
        (lambda: bursts([LOW, HIGH], [0.5, 0.6], 1), "add up to 1.1, expected 1"),
        (lambda: bursts([LOW], [1.0], 1, jobs=0), "0 jobs in 4 bursts"),
        (lambda: marked_markovian([LOW], D0, [D1, D2], 1, jobs=1), "1 classes, 2 matrices"),
    ],
)
def test_what_generators_refuse(make: Callable[[], Iterator[pd.DataFrame]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        next(make())


@pytest.mark.parametrize(
    ("d0", "marked", "message"),
    [
        ([[-1.0]], [], "needs D_0 and at least D_1"),
        ([[-1.0]], [[[0.5, 0.5]]], r"D_1 has shape \(1, 2\), expected a square like D_0"),
        ([[-1.0, 0.5], [-0.5, -1]], [np.eye(2) / 2], "D_0, row 1: -0.5 is no rate"),
        ([[-1.0]], [[[np.nan]]], "D_1, row 0: nan is no rate"),
        ([[-1.0]], [[[2.0]]], "D_0, row 0: -1 on the diagonal, expected -2"),
        ([[0.0]], [[[0.0]]], "D_0, row 0: the chain never leaves this state"),
        ([[-1.0, 0], [0, -1.0]], [np.eye(2)], "never comes from state 0 to 1"),
        ([[-1.0, 1], [1, -1.0]], [np.zeros((2, 2))], "nothing ever arrives"),
    ],
)
def test_what_is_no_arrival_process(d0: object, marked: list[object], message: str) -> None:
    classes = [LOW] * len(marked)
    with pytest.raises(UserError, match=message):
        next(marked_markovian(classes, d0, marked, 1, jobs=1))


@pytest.mark.parametrize(
    ("load", "service_s", "ratio", "message"),
    [
        (0.0, [1.0], [1], "load is 0"),
        (0.8, [1.0, 2.0], [1], "2 mean service times, ratio of 1"),
        (0.8, [0.0], [1], "expected more than 0"),
        (0.8, [1.0], [0], "expected 0 or more, and one more than 0"),
    ],
)
def test_what_is_no_load(
    load: float, service_s: list[float], ratio: list[float], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        rates_for_load(load, service_s, ratio)


def test_task_counts_are_checked() -> None:
    with pytest.raises(UserError, match="counts of 1 or more"):
        TaskCounts((0,), (1.0,))
    with pytest.raises(UserError, match="expected as many of both"):
        TaskCounts((1, 2), (1.0,))
    with pytest.raises(UserError, match="1 in all"):
        TaskCounts((1, 2), (0.5, 0.6))


def test_deterministic_work() -> None:
    one = SyntheticClass("low", 0, 1, 0, 0, Deterministic(3.0))
    assert (joined(poisson([one], [1.0], 1, jobs=10))["work_s"] == 3.0).all()
