"""Synthetic traces: bursts (HEATS), exponential and marked Markovian arrivals (DiAS).

Everything is drawn in blocks of 65,536 jobs, so a trace depends only on its seed. It depends
neither on the size of its chunks nor on the number of jobs: a shorter trace is a prefix of a longer
one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import UserError
from trimtab.records.tables import TRACE
from trimtab.traces.arrival_order import ROWS_PER_CHUNK
from trimtab.traces.distribution import Deterministic, Distribution
from trimtab.traces.jobs import rechunked
from trimtab.traces.markovian import marked_arrivals

_BLOCK = 65_536

Arrivals = Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]


@dataclass(frozen=True)
class TaskCounts:
    """The number of tasks of a round: `counts[i]` (1 or more) with `probabilities[i]`."""

    counts: tuple[int, ...]
    probabilities: tuple[float, ...]

    def __post_init__(self) -> None:
        chances = np.asarray(self.probabilities, np.float64)
        if not self.counts or len(self.counts) != chances.size or min(self.counts) < 1:
            raise UserError(
                f"counts {self.counts}, probabilities {self.probabilities}; expected as many of "
                "both, and counts of 1 or more"
            )
        if not ((chances >= 0).all() and abs(chances.sum() - 1) <= 1e-9):
            raise UserError(f"probabilities {self.probabilities}, expected 0 or more, 1 in all")

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return `size` independent draws, int64."""
        return rng.choice(np.asarray(self.counts, np.int64), size, p=self.probabilities)


@dataclass(frozen=True)
class RoundCounts:
    """A job of rounds, whose tasks draw their own times (the thesis, section 4.3.1).

    `size` is a factor on the times of all tasks of a job.
    """

    map_tasks: TaskCounts
    reduce_tasks: TaskCounts
    size: Distribution = field(default_factory=lambda: Deterministic(1.0))


@dataclass(frozen=True)
class SyntheticClass:
    """A class of jobs: its demands, and its work in seconds or its tasks by round."""

    name: str
    priority: int
    cpu_milli: int
    gpu_milli: int
    memory_bytes: int
    work: Distribution | RoundCounts


def bursts(
    classes: Sequence[SyntheticClass],
    shares: Sequence[float],
    seed: int,
    jobs: int = 480,
    count: int = 4,
    span_s: float = 600.0,
    rows_per_chunk: int = ROWS_PER_CHUNK,
) -> Iterator[pd.DataFrame]:
    """Yield the trace of Rocha's thesis, section 3.4.3 and figure 3.4, as chunks of tables.TRACE.

    "480 jobs following four bursts over 10 minutes, executed randomly within a timeframe of 150
    seconds": four windows of 150 s fill the 10 minutes, so each burst of 120 has one window, and
    each job a random time in it. Uniform times would give no bursts; figure 3.4 shows four. We take
    the mean of two uniform times, which peaks in the middle of the window. Bursts differ by at most
    one job; a job is of class i with the probability shares[i], which sum to 1. Raises UserError
    for invalid shares or numbers.
    """
    total, chances = _rates(classes, shares)
    if abs(total - 1) > 1e-9:
        raise UserError(f"shares {list(shares)} add up to {total:g}, expected 1")
    if jobs < 1 or count < 1 or not span_s > 0:
        raise UserError(f"{jobs} jobs in {count} bursts over {span_s:g} s, expected more than 0")
    rng_arrivals, rng_work = _generators(seed)
    window_s = span_s / count
    middles = rng_arrivals.random((jobs, 2)).mean(axis=1)
    arrival_s = np.sort((np.arange(jobs) * count // jobs + middles) * window_s)
    kinds = rng_arrivals.choice(len(classes), jobs, p=chances)
    blocks = np.arange(0, jobs, _BLOCK)
    arrivals = ((arrival_s[at : at + _BLOCK], kinds[at : at + _BLOCK]) for at in blocks)
    yield from rechunked(_trace(classes, arrivals, rng_work, jobs), rows_per_chunk)


def poisson(
    classes: Sequence[SyntheticClass],
    rates: Sequence[float],
    seed: int,
    jobs: int,
    rows_per_chunk: int = ROWS_PER_CHUNK,
) -> Iterator[pd.DataFrame]:
    """Yield independent Poisson streams, merged, as chunks of tables.TRACE.

    `rates[i]`, 1/s, is the rate of class i. The trace ends after `jobs` jobs. Raises UserError for
    rates that are invalid, or all 0.
    """
    total, chances = _rates(classes, rates)
    rng_arrivals, rng_work = _generators(seed)

    def arrivals() -> Arrivals:
        time_s = 0.0
        thresholds = np.cumsum(chances)
        thresholds[-1] = 1.0
        while True:
            arrival_s = time_s + np.cumsum(rng_arrivals.exponential(1 / total, _BLOCK))
            time_s = float(arrival_s[-1])
            yield arrival_s, np.searchsorted(thresholds, rng_arrivals.random(_BLOCK), side="right")

    yield from rechunked(_trace(classes, arrivals(), rng_work, jobs), rows_per_chunk)


def marked_markovian(
    classes: Sequence[SyntheticClass],
    d0: ArrayLike,
    marked: Sequence[ArrayLike],
    seed: int,
    jobs: int,
    rows_per_chunk: int = ROWS_PER_CHUNK,
) -> Iterator[pd.DataFrame]:
    """Yield the arrivals of a marked Markovian arrival process as chunks of tables.TRACE.

    `d0` is D_0, (m, m), and `marked[i]`, D_{i+1}, has the rates (1/s) of arrivals of class i: the
    thesis, section 4.3. The chain starts in its stationary state. The trace ends after `jobs` jobs.
    Raises UserError for matrices of no such process.
    """
    if len(classes) != len(marked):
        raise UserError(f"{len(classes)} classes, {len(marked)} matrices after D_0; expected equal")
    rng_arrivals, rng_work = _generators(seed)
    arrivals = marked_arrivals(d0, marked, rng_arrivals, _BLOCK)
    yield from rechunked(_trace(classes, arrivals, rng_work, jobs), rows_per_chunk)


def rates_for_load(
    load: float, mean_service_s: Sequence[float], ratio: Sequence[float]
) -> NDArray[np.float64]:
    """Return the arrival rate of each class, (K,), 1/s, that loads one engine with `load`.

    The rates have the proportions of `ratio`, and the sum of rate times mean service time is
    `load`. The thesis, section 4.4.3, has loads of 0.5 and 0.8, and ratios such as 9 to 1 and 1 to
    4 to 5. Raises UserError for invalid numbers.
    """
    service_s, parts = np.asarray(mean_service_s, np.float64), np.asarray(ratio, np.float64)
    if service_s.shape != parts.shape or not service_s.size:
        raise UserError(f"{service_s.size} mean service times, ratio of {parts.size} classes")
    if not (np.isfinite(service_s).all() and (service_s > 0).all()):
        raise UserError(f"mean service times {service_s.tolist()} s, expected more than 0")
    if not (np.isfinite(parts).all() and (parts >= 0).all() and parts.any()):
        raise UserError(f"ratio {parts.tolist()}, expected 0 or more, and one more than 0")
    if not (np.isfinite(load) and load > 0):
        raise UserError(f"load is {load:g}, expected more than 0")
    return np.asarray(parts * (load / (parts @ service_s)))


def _trace(
    classes: Sequence[SyntheticClass],
    arrivals: Arrivals,
    rng: np.random.Generator,
    jobs: int,
) -> Iterator[pd.DataFrame]:
    """Yield a frame per block, cut off at the end of the trace."""
    if jobs < 1:
        raise UserError(f"jobs {jobs}: expected more than 0")
    names = pd.array([one.name for one in classes], dtype=str)
    demands = {
        name: np.array([getattr(one, name) for one in classes], np.int64)
        for name in ("priority", "cpu_milli", "gpu_milli", "memory_bytes")
    }
    first = 0
    for arrival_s, kinds in arrivals:
        work_s = np.full(kinds.size, np.nan)
        tasks = np.zeros((2, kinds.size), np.int64)
        size = np.ones(kinds.size)
        for kind, one in enumerate(classes):
            mine = np.flatnonzero(kinds == kind)
            if isinstance(one.work, RoundCounts):
                tasks[0, mine] = one.work.map_tasks.draw(rng, mine.size)
                tasks[1, mine] = one.work.reduce_tasks.draw(rng, mine.size)
                size[mine] = one.work.size.draw(rng, mine.size)
            else:
                work_s[mine] = one.work.draw(rng, mine.size)
        # Cut after drawing, so the beginning of a trace does not depend on its end.
        end = min(kinds.size, jobs - first)
        columns = {
            "job": np.arange(first, first + kinds.size),
            "arrival_s": arrival_s,
            "job_class": names.take(kinds),
            **{name: values[kinds] for name, values in demands.items()},
            "work_s": work_s,
            "map_tasks": tasks[0],
            "reduce_tasks": tasks[1],
            "size": size,
        }
        first += end
        yield pd.DataFrame(columns)[TRACE.names].iloc[:end]
        if first == jobs:
            return


def _generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Return one generator for arrivals and one for work."""
    arrivals, work = np.random.SeedSequence(seed).spawn(2)
    return np.random.default_rng(arrivals), np.random.default_rng(work)


def _rates(
    classes: Sequence[SyntheticClass], rates: Sequence[float]
) -> tuple[float, NDArray[np.float64]]:
    """Return the total of `rates`, one per class, and the share of each."""
    values = np.asarray(rates, np.float64)
    if values.shape != (len(classes),):
        raise UserError(f"{len(classes)} classes, {values.size} rates or shares; expected equal")
    if not (np.isfinite(values).all() and (values >= 0).all() and values.any()):
        raise UserError(f"rates or shares {values.tolist()}: expected 0 or more, not all 0")
    total = float(values.sum())
    return total, values / total
