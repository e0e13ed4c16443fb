"""How fast the simulator is, against SimPy on the same model, and with how much memory.

    python benchmarks/simulation.py

A single queue of three priorities, non-preemptive, Poisson arrivals and exponential service, is
simulated by us and by SimPy in turns; both generate their arrivals in the measured time and give
the mean and the percentiles of response times by priority. We read the trace and add up what
comes out in threads of their own, as `simulate` always does. Then tasks of 160 shapes are placed
as HEATS and Kubernetes do, on up to a hundred thousand nodes.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd
import simpy
from common import save, spread

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.policies.heats.policy import Heats
from trimtab.policies.kubernetes import Kubernetes
from trimtab.policies.priority import Priority
from trimtab.simulation.simulate import simulate

LOAD = 0.8
CLASSES = tuple(JobClass(f"priority_{number}", number) for number in range(3))
CHUNK = 1 << 17


def queue_trace(jobs: int) -> Iterator[pd.DataFrame]:
    """Jobs of three priorities at a load of 0.8 on one server."""
    random_numbers = np.random.default_rng(1)
    names = pd.Index([job_class.name for job_class in CLASSES])
    nothing, core = np.zeros(CHUNK, np.int64), np.full(CHUNK, 1000)
    now_s = 0.0
    for begin in range(0, jobs, CHUNK):
        count = min(CHUNK, jobs - begin)
        arrival_s = random_numbers.standard_exponential(count)
        arrival_s /= LOAD
        arrival_s[0] += now_s
        np.cumsum(arrival_s, out=arrival_s)
        now_s = arrival_s[-1]
        priority = random_numbers.integers(0, 3, count, np.int16)
        yield pd.DataFrame(
            {
                "job": np.arange(begin, begin + count),
                "arrival_s": arrival_s,
                "job_class": pd.Categorical.from_codes(priority, names),
                "priority": priority,
                "cpu_milli": core[:count],
                "gpu_milli": nothing[:count],
                "memory_bytes": nothing[:count],
                "work_s": random_numbers.standard_exponential(count),
            },
            copy=False,
        )


def our_queue(jobs: int) -> dict[str, float]:
    """Mean and 95th percentile of the response time by class."""
    server = NodeType("server", 1000, 1, 10.0, (Level(1.0, 90.0),))
    result = simulate(
        Cluster((server,), (1,)),
        CLASSES,
        queue_trace(jobs),
        Priority(),
        keep_jobs=False,
        keep_allocations=False,
    )
    return {
        f"{name}_{key}": getattr(one, f"response_{key}_s")
        for name, one in result.classes.items()
        for key in ("mean", "p95")
    }


def simpy_queue(jobs: int) -> dict[str, float]:
    """The same of the same model."""
    numbers = random.Random(1)
    environment = simpy.Environment()
    server = simpy.PriorityResource(environment)
    responses_s: list[list[float]] = [[], [], []]

    def job(priority: int) -> Iterator[simpy.Event]:
        arrival_s = environment.now
        with server.request(priority=-priority) as turn:
            yield turn
            yield environment.timeout(numbers.expovariate(1.0))
        responses_s[priority].append(environment.now - arrival_s)

    def source() -> Iterator[simpy.Event]:
        for _ in range(jobs):
            yield environment.timeout(numbers.expovariate(LOAD))
            environment.process(job(numbers.randrange(3)))

    environment.process(source())
    environment.run()
    found = {}
    for job_class, times_s in zip(CLASSES, responses_s, strict=True):
        found[f"{job_class.name}_mean"] = float(np.mean(times_s))
        found[f"{job_class.name}_p95"] = float(np.percentile(times_s, 95))
    return found


def place(rule: str, tasks: int, nodes: int, types: int, unit_milli: int) -> dict[str, float]:
    """Place tasks of ten classes in bursts on nodes of many types; return what came of it.

    A task has one to four units of cores.
    """
    numbers = np.random.default_rng(2)
    node_types = tuple(
        NodeType(
            f"type_{number}",
            int(numbers.integers(4, 65)) * 1000,
            int(numbers.integers(16, 257)) << 30,
            float(numbers.uniform(5, 100)),
            (Level(float(numbers.uniform(0.3, 1)), float(numbers.uniform(20, 200))),),
            network_bytes_per_s=1.25e9,
        )
        for number in range(types)
    )
    cluster = Cluster(node_types, (nodes // types,) * types)
    classes = [JobClass(f"class_{at}", image_bytes=10**9, cold_start_s=1.0) for at in range(10)]
    cores = cluster.type_of_node
    capacity = sum(node_types[kind].cpu_milli * node_types[kind].levels[0].speed for kind in cores)
    cpu = numbers.integers(1, 5, tasks) * unit_milli
    work_s = numbers.uniform(300, 900, tasks)
    span_s = float((cpu * work_s).sum()) / capacity / 1.2
    arrival_s = np.sort(numbers.uniform(0, span_s, tasks) // (span_s / 40) * (span_s / 40))
    arrival_s += numbers.uniform(0, span_s / 80, tasks)
    job_class = numbers.integers(0, 10, tasks)
    trace = pd.DataFrame(
        {
            "job": np.arange(tasks),
            "arrival_s": np.sort(arrival_s),
            "job_class": pd.Categorical.from_codes(job_class, [one.name for one in classes]),
            "priority": 0,
            "cpu_milli": cpu,
            "gpu_milli": 0,
            "memory_bytes": numbers.integers(1, 5, tasks) << 30,
            "work_s": work_s,
        }
    )
    shape = (len(classes), types, 1)
    speed = np.array([node_type.levels[0].speed for node_type in node_types])
    watts = np.array([node_type.levels[0].active_w for node_type in node_types])
    run_time_s = np.broadcast_to((600 / speed)[None, :, None], shape)
    energy_j = run_time_s * watts[None, :, None]
    pull = np.array([1.0, 0.0])[:, None, None] * np.full((1, len(classes), types), 0.8)
    heats = Heats(
        run_time_s,
        energy_j,
        np.ones(types, int),
        energy_weight=0.618,
        migration_gain=0.05,
        tick_s=600.0,
        set_up_s=pull,
        set_up_j=0 * pull,
    )
    policy = heats if rule == "heats" else Kubernetes(nodes, np.ones(types, int))
    begun, cpu_begun_s = time.perf_counter(), time.process_time()
    result = simulate(cluster, classes, trace, policy, keep_jobs=False, keep_allocations=False)
    wall_s, cpu_s = time.perf_counter() - begun, time.process_time() - cpu_begun_s
    every = result.total
    return {
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "jobs": every.jobs,
        "migrations": every.migrations,
        "waiting_mean_s": every.waiting_mean_s,
        "utilisation": every.utilisation,
    }


def timed_queue(jobs: int, which: str) -> dict[str, float]:
    """Jobs a second, after a first short run that compiles."""
    queue = our_queue if which == "ours" else simpy_queue
    queue(1000)
    begun = time.perf_counter()
    means = queue(jobs)
    return {"jobs_per_s": jobs / (time.perf_counter() - begun), **means}


def alone(*arguments: object) -> dict[str, float]:
    """Run one measurement in a process of its own and add its peak memory."""
    command = [sys.executable, __file__, "--alone", *map(str, arguments)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def measure(arguments: list[str]) -> dict[str, float]:
    if arguments[0] in ("heats", "kubernetes"):
        place(arguments[0], 100, 20, 20, 1000)
        figures = place(arguments[0], *map(int, arguments[1:]))
    else:
        figures = timed_queue(int(arguments[1]), arguments[0])
    # The kernel counts the peak in KiB.
    return figures | {"peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--alone", nargs="+")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=10_000_000)
    arguments = parser.parse_args()
    if arguments.alone:
        print(json.dumps(measure(arguments.alone)))
        return
    alone("heats", 100, 20, 20, 1000)  # compiles, into the cache
    rows: dict[str, list[dict[str, float]]] = {"ours": [], "fewer": [], "simpy": []}
    for _ in range(arguments.repeats):
        rows["simpy"].append(alone("simpy", arguments.jobs // 30))
        rows["ours"].append(alone("ours", arguments.jobs))
        rows["fewer"].append(alone("ours", arguments.jobs // 10))
    ratios = [
        ours["jobs_per_s"] / theirs["jobs_per_s"]
        for ours, theirs in zip(rows["ours"], rows["simpy"], strict=True)
    ]
    save(
        "simulation",
        {
            "queue_jobs": arguments.jobs,
            "simpy_version": simpy.__version__,
            "ours_jobs_per_s": spread([row["jobs_per_s"] for row in rows["ours"]]),
            "simpy_jobs_per_s": spread([row["jobs_per_s"] for row in rows["simpy"]]),
            "times_simpy": spread(ratios),
            "peak_rss_mb": spread([row["peak_rss_mb"] for row in rows["ours"]]),
            "peak_rss_mb_of_a_tenth": spread([row["peak_rss_mb"] for row in rows["fewer"]]),
            "response_s": {name: rows[name][0] for name in ("ours", "simpy")},
            "heats": alone("heats", 1_000_000, 10_000, 20, 1000),
            "kubernetes_of_1000_nodes": alone("kubernetes", 100_000, 1000, 20, 1000),
            "heats_of_1000_nodes": alone("heats", 100_000, 1000, 20, 1000),
            "heats_of_100000_nodes": alone("heats", 1_000_000, 100_000, 20, 4000),
        },
    )


if __name__ == "__main__":
    main()
