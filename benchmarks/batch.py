"""Batch queues: start times beside other simulators, and jobs a second.

    python benchmarks/batch.py --traces FOLDER --accasim ACCASIM/bin/python \\
        --pyss-python python2.7 --pyss PYSS/src

FOLDER has NASA-iPSC-1993-3.1-cln.swf and LCG.swf.gz. ACCASIM is an environment with accasim 1.1.3;
PYSS is a checkout of github.com/dinesh121991/pyss at 44a2423. What is not given is left out;
without --traces, earlier comparisons stay.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from batch_peers import Job, compare, jobs_table, read_log, without_ties
from common import load, save, spread

from trimtab.batch.nodes import parse_nodes
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import simulate_batch
from trimtab.clusters.cluster import Cluster, Level, NodeType

REPEATS = 3
LOAD = 0.9
GIB = 1 << 30
OWN_POLICY = '''
"""Small jobs first, by what they may use."""

from trimtab.batch.policies.base import BatchPolicy


class SmallestArea(BatchPolicy):
    def order(self, jobs, now_s):
        return jobs.parts * jobs.cpu_milli * jobs.estimate_s


def build():
    return SmallestArea()
'''


def job_by_job(traces: Path, peers: dict[str, Any]) -> dict[str, object]:
    """Compare two logs, as recorded and with contention, with every simulator there is."""
    nasa = read_log(traces / "NASA-iPSC-1993-3.1-cln.swf")
    halved = [job._replace(submit_s=job.submit_s // 2) for job in nasa]
    factors = np.random.default_rng(1).choice([1, 2, 5, 10], len(nasa)).tolist()
    estimated = [
        job._replace(estimate_s=job.run_s * factor)
        for job, factor in zip(halved, factors, strict=True)
    ]
    lcg = read_log(traces / "LCG.swf.gz", 3000)
    widths = (2 ** np.random.default_rng(2).integers(0, 7, len(lcg))).tolist()
    wide = [job._replace(cores=width) for job, width in zip(lcg, widths, strict=True)]
    accasim = {"accasim_python": peers["accasim_python"]}
    others = {name: path for name, path in peers.items() if name not in accasim}
    cases: dict[str, tuple[list[Job], int, dict[str, Any]]] = {
        "NASA as recorded": (nasa, 128, accasim),
        "NASA, arrivals halved": (halved, 128, {}),
        "NASA, arrivals halved, estimates drawn, part": (estimated[:3000], 128, accasim),
        "the same, no two events at once": (without_ties(estimated[:3000], 3), 128, others),
        "LCG, part, 200 cores": (lcg, 200, accasim),
        "LCG, part, widths drawn, 3,500 cores": (wide, 3500, accasim),
    }
    found: dict[str, object] = {}
    for name, (jobs, cores, given) in cases.items():
        print(name, flush=True)
        found[name] = compare(jobs, cores, **given)
    return found


def swf_like(jobs: int, cores: int) -> pd.DataFrame:
    """Draw jobs of 2^k cores and lognormal run times, at the load LOAD of `cores` cores."""
    rng = np.random.default_rng(1)
    parts = 2 ** rng.choice(11, jobs, p=_geometric(11, 0.7))
    run_s = np.ceil(rng.lognormal(6.0, 2.0, jobs).clip(1, 2 * 86400))
    estimate_s = run_s * rng.choice([1.0, 2.0, 5.0, 10.0], jobs)
    submit_s = _arrivals(rng, jobs, LOAD, float((parts * run_s).sum()) / cores)
    return jobs_table(submit_s, run_s, estimate_s, parts)


def demands(jobs: int, distinct: int, load: float, cluster: Cluster) -> pd.DataFrame:
    """Draw single-node jobs of `distinct` different demands of cores and memory.

    Large jobs leave cores idle beside them, so from a load of about 0.8 on the queue only grows.
    """
    rng = np.random.default_rng(2)
    kinds = rng.choice(16_000, distinct, replace=False) + 1, rng.integers(1, 48, distinct) * GIB
    kind = rng.integers(0, distinct, jobs)
    cpu_milli, memory_bytes = (each[kind] for each in kinds)
    run_s = rng.exponential(600.0, jobs) + 1.0
    cores = sum(
        count * each.cpu_milli / 1000 * each.levels[-1].speed
        for each, count in zip(cluster.node_types, cluster.counts, strict=True)
    )
    submit_s = _arrivals(rng, jobs, load, float((cpu_milli / 1000 * run_s).sum()) / cores)
    ones = np.ones(jobs, np.int64)
    return jobs_table(submit_s, run_s, run_s * 2, ones, cpu_milli, memory_bytes)


def _geometric(count: int, ratio: float) -> np.ndarray:
    weights = ratio ** np.arange(count)
    return weights / weights.sum()


def _arrivals(rng: np.random.Generator, jobs: int, load: float, work_s: float) -> np.ndarray:
    """Return Poisson arrivals over the time that `work_s` seconds of the whole cluster need."""
    gaps = rng.exponential(1.0, jobs)
    gaps[0] = 0.0
    return np.cumsum(gaps * (work_s / load / gaps.sum()))


def measure(jobs: pd.DataFrame, cluster: Cluster, policy: str) -> dict[str, object]:
    """Time a policy, once its code is compiled."""
    built = build_batch_policy(policy)[1]
    simulate_batch(jobs.head(100), cluster, built)
    walls_s, cpus_s = [], []
    for _ in range(REPEATS):
        begun, begun_cpu = time.perf_counter(), time.process_time()
        result = simulate_batch(jobs, cluster, built)
        walls_s.append(time.perf_counter() - begun)
        cpus_s.append(time.process_time() - begun_cpu)
    waits_s = result.schedule["wait_s"]
    return {
        "jobs": len(jobs),
        "nodes": cluster.size,
        "wall_s": spread(walls_s),
        "cpu_s": spread(cpus_s),
        "jobs_per_s": spread([len(jobs) / wall_s for wall_s in walls_s]),
        "jobs_per_cpu_s": spread([len(jobs) / cpu_s for cpu_s in cpus_s]),
        "mean_wait_s": float(waits_s.mean()),
        "utilisation": result.utilisation,
    }


def speed() -> dict[str, object]:
    thousand = parse_nodes("32c:1000", _unknown)
    cores = 32_000
    types = tuple(
        NodeType(name, 16_000, 64 * GIB, idle_w, (Level(speed, active_w),))
        for name, speed, idle_w, active_w in (
            ("fast", 1.0, 100.0, 200.0),
            ("slow", 0.6, 40.0, 60.0),
        )
    )
    mixed = Cluster(types, (100, 100))
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder, "smallest_area.py")
        own.write_text(OWN_POLICY)
        cases: dict[str, tuple[Callable[[], pd.DataFrame], Cluster, str]] = {
            "easy, 10^6 jobs": (partial(swf_like, 1_000_000, cores), thousand, "easy"),
            "conservative, 10^5 jobs": (
                partial(swf_like, 100_000, cores),
                thousand,
                "conservative",
            ),
            "own policy": (partial(swf_like, 200_000, cores), thousand, str(own)),
        }
        for count in (1000, 10_000):
            for load in (0.6, 1.1):
                for policy in ("fcfs", "heats"):
                    make = partial(demands, 50_000, count, load, mixed)
                    cases[f"{policy}, {count} demands, load {load}"] = (make, mixed, policy)
        for name, (make, cluster, policy) in cases.items():
            found[name] = measure(make(), cluster, policy)
            print(name, found[name], flush=True)
    return found


def _unknown(name: str) -> Any:
    raise AssertionError(f"{name} is no file of conf/hardware here")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=Path, help="folder with the two logs")
    parser.add_argument("--accasim", type=Path, help="Python with accasim 1.1.3")
    parser.add_argument("--pyss-python", type=Path, help="Python 2.7")
    parser.add_argument("--pyss", type=Path, help="folder `src` of pyss")
    given = parser.parse_args()
    figures = (load("batch") or {}) | {"speed": speed()}
    if given.traces:
        peers = {
            "accasim_python": given.accasim,
            "pyss_python": given.pyss_python,
            "pyss_source": given.pyss,
        }
        figures["job_by_job"] = job_by_job(given.traces, peers)
    save("batch", figures)


if __name__ == "__main__":
    main()
