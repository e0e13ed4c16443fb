"""The MMAP[K]/PH[K]/1 priority queue by formula, beside BuTools' port in line-solver.

`--peer` is an environment that line-solver 3.0.8 is installed in (`python -m venv`, then pip).
Ours computes the mean and the 95th percentile of every class, the peer, which has no percentiles,
the means alone: a distribution of it takes hours for the larger systems.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from common import save, spread

from trimtab.queueing.mmap import MarkedArrivals, poisson
from trimtab.queueing.mmap_priority import priority_queue
from trimtab.queueing.phase_type import (
    PhaseType,
    erlang,
    exponential,
    fit_two_moments,
)
from trimtab.queueing.poisson_priority import Discipline

REPETITIONS = 5
LOWEST_LOAD, HIGHEST_LOAD = 0.3, 0.9

System = tuple[MarkedArrivals, list[PhaseType]]
Peer = Callable[..., Any]


def random_systems(seed: int, count: int) -> Iterator[System]:
    """Yield `count` queues of 2 or 3 classes and 2 to 4 phases, at loads from 0.3 to 0.9.

    Transitions between phases are slower than arrivals by up to a factor of 20, so that arrivals
    correlate; service times have squared coefficients of variation from 0.1 to 4.
    """
    rng = np.random.default_rng(seed)
    for load in np.linspace(LOWEST_LOAD, HIGHEST_LOAD, count):
        classes, phases = int(rng.integers(2, 4)), int(rng.integers(2, 5))
        marked = rng.exponential(size=(classes, phases, phases)) * 0.1
        marked += rng.exponential(size=(classes, phases, 1)) * np.eye(phases)
        marked *= rng.choice([0.1, 1.0, 4.0], size=(phases, 1))
        hidden = rng.exponential(size=(phases, phases)) * rng.uniform(0.05, 1.0)
        np.fill_diagonal(hidden, 0.0)
        hidden -= np.diag(hidden.sum(axis=1) + marked.sum(axis=(0, 2)))
        services = [
            fit_two_moments(float(rng.uniform(0.3, 3)), float(rng.uniform(0.1, 4)))
            for _ in range(classes)
        ]
        yield at_load(float(load), MarkedArrivals(hidden, marked), services), services


def at_load(load: float, arrivals: MarkedArrivals, services: Sequence[PhaseType]) -> MarkedArrivals:
    now = sum(r * s.mean for r, s in zip(arrivals.rates, services, strict=True))
    return arrivals.scaled(load / now)


def compare(arrivals: MarkedArrivals, services: list[PhaseType], peer: Peer | None) -> object:
    """Time both on one system; the means differ relatively by at most what is said."""
    times = []
    for _ in range(REPETITIONS):
        begun = time.perf_counter()
        queue = priority_queue(arrivals, services, Discipline.NON_PREEMPTIVE)
        means = [each.mean for each in queue]
        for each in queue:
            each.quantile(0.95)
        times.append(time.perf_counter() - begun)
    figures: dict[str, object] = {
        "classes": arrivals.classes,
        "arrival_phases": arrivals.phases,
        "service_phases": [each.phases for each in services],
        "load": float(sum(r * s.mean for r, s in zip(arrivals.rates, services, strict=True))),
        "wall_s": spread(times),
    }
    if peer is not None:
        begun = time.perf_counter()
        moments = ask(peer, arrivals, services, "stMoms", 1)
        peer_wall_s = time.perf_counter() - begun
        theirs = [float(np.ravel(each)[0]) for each in moments]
        figures |= {
            "peer_wall_s": peer_wall_s,
            "times_as_fast": peer_wall_s / float(np.median(times)),
            "means_relative_difference": float(np.abs(np.divide(means, theirs) - 1).max()),
        }
    return figures


def ask(peer: Peer, arrivals: MarkedArrivals, services: list[PhaseType], *what: object) -> Any:
    """The peer's answer by class, the most important first; its own order is the opposite."""
    answer = peer(
        [np.asmatrix(arrivals.hidden), *(np.asmatrix(each) for each in arrivals.marked[::-1])],
        [np.asmatrix(each.alpha) for each in services[::-1]],
        [np.asmatrix(each.matrix) for each in services[::-1]],
        *what,
    )
    return answer[::-1]


def tails(peer: Peer | None) -> object:
    """P(X > t) of the less important of two M/M/1 classes, ours and the peer's against exact."""
    first, second, t = 0.3, 0.4, 4.0
    arrivals, services = poisson([first, second]), [exponential(1.0), exponential(1.0)]
    exact = exact_tail(first, second, t)
    ours = float(priority_queue(arrivals, services, Discipline.NON_PREEMPTIVE)[1].tail(t))
    figures = {"t_s": t, "exact": exact, "ours": ours, "error": ours - exact}
    if peer is not None:
        theirs = 1 - float(np.ravel(ask(peer, arrivals, services, "stDistr", [t])[1])[0])
        figures |= {"peer": theirs, "peer_error": theirs - exact}
    return figures


def exact_tail(first: float, second: float, t: float) -> float:
    """The tail to 15 digits: its transform has square roots alone, and is inverted with 30."""

    def transform(s: mpmath.mpc) -> mpmath.mpc:
        edge = 2 * mpmath.sqrt(first)
        root = mpmath.sqrt(s + first + 1 - edge) * mpmath.sqrt(s + first + 1 + edge)
        z = s + first - (s + first + 1 - root) / 2
        waiting = (1 - first - second) * (z + 1) / (z + 1 - first - second)
        return (1 - waiting / (1 + s)) / s

    with mpmath.workdps(30):
        return float(mpmath.invertlaplace(transform, t, method="talbot"))


def find_peer(environment: Path | None) -> Peer | None:
    """Import the peer from `environment`, behind all that is installed here, if it is there."""
    if environment is None:
        print("no --peer: ours alone is measured")
        return None
    sys.path.extend(str(folder) for folder in environment.glob("lib/python3*/site-packages"))
    try:
        from line_solver.lib.thirdparty.butools.queues.npprio import MMAPPH1NPPR
    except ImportError as error:
        print(f"no line-solver in {environment} ({error}): ours alone is measured")
        return None
    return MMAPPH1NPPR


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", type=Path, help="environment with line-solver")
    parser.add_argument("--quick", action="store_true", help="the small systems alone; not saved")
    arguments = parser.parse_args()
    peer = find_peer(arguments.peer)
    systems = {f"random MMAP {i}": each for i, each in enumerate(random_systems(seed=1, count=2))}
    if not arguments.quick:
        for name, services in (
            ("two Erlang-60 classes", [erlang(60, 60.0), erlang(60, 30.0)]),
            ("eight Erlang-10 classes", [erlang(10, 10.0)] * 8),
        ):
            systems[name] = at_load(0.7, poisson([1.0] * len(services)), services), services
    figures: dict[str, object] = {"tail": tails(peer)}
    for name, (arrivals, services) in systems.items():
        figures[name] = compare(arrivals, services, peer)
        print(name, figures[name], flush=True)
    print(figures["tail"])
    if not arguments.quick:
        save("queueing", figures)


if __name__ == "__main__":
    main()
