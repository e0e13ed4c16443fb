"""The formulas against the simulator: 20 random MMAP/PH queues, loads 0.3 to 0.9.

    python benchmarks/analytic.py

Each queue is simulated many times with other seeds, non-preemptive and preemptive resume. The
mean and the 95th percentile of each class' response time by formula are compared with the
simulations' 99 % confidence intervals (Student's t over the replications): of right formulas about
one in a hundred lies outside.
"""

import argparse
import time
from collections.abc import Sequence

import numpy as np
import pandas as pd
from common import save
from queueing import random_systems
from scipy.stats import t as student

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.policies.priority import Priority
from trimtab.queueing.mmap import MarkedArrivals
from trimtab.queueing.mmap_priority import priority_queue
from trimtab.queueing.phase_type import PhaseType
from trimtab.queueing.poisson_priority import Discipline
from trimtab.simulation.simulate import simulate
from trimtab.traces.markovian import marked_arrivals

SERVER = Cluster((NodeType("server", 1000, 1, 0.0, (Level(1.0, 0.0),)),), (1,))
WARM_UP = 0.1
QUANTITIES = ("mean", "p95")
DISCIPLINES = {"none": Discipline.NON_PREEMPTIVE, "resume": Discipline.PREEMPTIVE_RESUME}


def main() -> None:
    """Compare and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=20)
    parser.add_argument("--replications", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=200_000, help="of a replication")
    given = parser.parse_args()
    begun, rows = time.perf_counter(), []
    for number, (arrivals, services) in enumerate(random_systems(1, given.systems)):
        for preemption in DISCIPLINES:
            rows += compare(number, arrivals, services, preemption, given.replications, given.jobs)
    inside = [row["inside"] for row in rows]
    apart = [abs(float(row["formula_s"]) / float(row["simulated_s"]) - 1) for row in rows]
    save(
        "analytic",
        {
            "systems": given.systems,
            "replications": given.replications,
            "jobs": given.jobs,
            "wall_s": time.perf_counter() - begun,
            "comparisons": len(rows),
            "inside_99": sum(map(bool, inside)),
            "largest_difference": max(apart),
            "median_difference": float(np.median(apart)),
            "rows": rows,
        },
    )
    print(f"{sum(map(bool, inside))} of {len(rows)} inside, {max(apart):.2%} apart at most")


def compare(
    number: int,
    arrivals: MarkedArrivals,
    services: Sequence[PhaseType],
    preemption: str,
    replications: int,
    jobs: int,
) -> list[dict[str, object]]:
    """Return a row for each class and quantity of one queue."""
    names = [f"class_{k}" for k in range(len(services))]
    classes = [JobClass(name, priority=-k) for k, name in enumerate(names)]
    found = np.empty((replications, len(names), len(QUANTITIES)))
    for replication in range(replications):
        trace = draw(np.random.default_rng((number, replication)), arrivals, services, names, jobs)
        result = simulate(SERVER, classes, trace, Priority(preemption), keep_stays=False)
        assert result.jobs is not None
        settled = result.jobs[result.jobs["job"] >= WARM_UP * jobs]
        for k, name in enumerate(names):
            own = settled.loc[settled["job_class"] == name, "response_s"]
            found[replication, k] = own.mean(), own.quantile(0.95)
    mean = found.mean(axis=0)
    half = student.ppf(0.995, replications - 1) * found.std(axis=0, ddof=1) / replications**0.5
    rows = []
    for k, each in enumerate(priority_queue(arrivals, services, DISCIPLINES[preemption])):
        for at, (quantity, value) in enumerate(
            zip(QUANTITIES, (each.mean, each.quantile(0.95)), strict=True)
        ):
            rows.append(
                {
                    "system": number,
                    "preemption": preemption,
                    "class": k,
                    "quantity": quantity,
                    "formula_s": value,
                    "simulated_s": mean[k, at],
                    "half_width_99_s": half[k, at],
                    "inside": bool(abs(value - mean[k, at]) <= half[k, at]),
                }
            )
    return rows


def draw(
    rng: np.random.Generator,
    arrivals: MarkedArrivals,
    services: Sequence[PhaseType],
    names: Sequence[str],
    jobs: int,
) -> pd.DataFrame:
    """Return a trace of the queue."""
    arrival_s, classes = next(marked_arrivals(arrivals.hidden, arrivals.marked, rng, jobs))
    work_s = np.empty(jobs)
    for k, service in enumerate(services):
        mine = np.flatnonzero(classes == k)
        work_s[mine] = service.sample(rng, mine.size)
    nothing = np.zeros(jobs, np.int64)
    return pd.DataFrame(
        {
            "job": np.arange(jobs),
            "arrival_s": arrival_s,
            "job_class": pd.Categorical.from_codes(classes, names),
            "priority": -classes,
            "cpu_milli": np.full(jobs, 1000),
            "gpu_milli": nothing,
            "memory_bytes": nothing,
            "work_s": work_s,
            "map_tasks": nothing,
            "reduce_tasks": nothing,
            "size": np.ones(jobs),
        }
    )


if __name__ == "__main__":
    main()
