"""The order in which the real Slurm starts a queue, beside first come, EASY and conservative.

    python benchmarks/slurm_backfill.py          # root, after make deps-slurm; about four minutes

All jobs are submitted while the partition is down, and then released at once. The simulator gets
the run times that Slurm measured, with the second that Slurm needs until a node is free again.

Slurm plans all jobs anew each second, on particular nodes: a job behind must keep off these nodes.
The simulator's reservations are of any nodes of a type, so it backfills more.
"""

import argparse
import itertools
import math
from datetime import datetime
from typing import Any

import numpy as np
from batch_peers import Job, jobs_table
from common import save

from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import simulate_batch
from trimtab.clusters.cluster import Cluster, Level, NodeType
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.execution.slurm.jobs import show

NODES = 6
PATIENCE_S = 900.0
CLUSTER = Cluster((NodeType("core", 1000, 8 << 30, 0.0, (Level(1.0, 0.0),)),), (NODES,))


def draw(count: int, seed: int) -> list[Job]:
    """Draw jobs of 2 to 12 s; limits are whole minutes, as Slurm's are."""
    rng = np.random.default_rng(seed)
    return [
        Job(0.0, int(run_s), 60 * int(minutes), int(nodes))
        for run_s, minutes, nodes in zip(
            rng.integers(2, 13, count),
            rng.choice([1, 2, 5, 10], count),
            rng.choice(np.arange(1, NODES + 1), count, p=[0.4, 0.25, 0.1, 0.1, 0.05, 0.1]),
            strict=True,
        )
    ]


def run_on_slurm(jobs: list[Job]) -> tuple[str, list[float], list[float]]:
    """Return Slurm's version, and when each job started and ended, since the release."""
    with SlurmCluster(CLUSTER) as slurm:
        plain = slurm.conf.read_text()
        slurm.conf.write_text(
            plain.replace("bf_interval=1", "bf_interval=1,bf_resolution=1,bf_max_job_test=1000")
        )
        slurm.call("scontrol", "reconfigure")
        slurm.call("scontrol", "update", "PartitionName=main", "State=DOWN")
        numbers = [
            int(
                slurm.call(
                    "sbatch",
                    "--parsable",
                    f"--nodes={job.cores}",
                    f"--ntasks={job.cores}",
                    "--mem=1M",
                    f"--time={int(job.estimate_s) // 60}",
                    "--output=/dev/null",
                    stdin=f"#!/bin/sh\nsleep {job.run_s}\n",
                )
            )
            for job in jobs
        ]
        slurm.call("scontrol", "update", "PartitionName=main", "State=UP")
        slurm.wait_until(lambda: not slurm.call("squeue", "--noheader").strip(), "jobs", PATIENCE_S)
        shown = [show(slurm, number) for number in numbers]
        version = slurm.call("sinfo", "--version").strip()
    starts, ends = (
        [datetime.fromisoformat(fields[name]).timestamp() for fields in shown]
        for name in ("StartTime", "EndTime")
    )
    first_s = min(starts)
    return version, [at - first_s for at in starts], [at - first_s for at in ends]


def simulated(jobs: list[Job], policy: str) -> list[float]:
    submit_s, run_s, estimate_s, nodes = np.array(jobs, np.float64).T
    table = jobs_table(submit_s, run_s, estimate_s, nodes.astype(np.int64))
    result = simulate_batch(table, CLUSTER, build_batch_policy(policy)[1])
    starts: list[float] = result.schedule["start_s"].tolist()
    return starts


def on_particular_nodes(jobs: list[Job]) -> list[float]:
    """Return the starts if all jobs are planned anew, in order, whenever jobs end.

    As in Slurm, a plan names its nodes: here the first ones that are free over a job's whole
    limit. Jobs behind it must keep off these very nodes.
    """
    starts = [math.nan] * len(jobs)
    waiting, running = list(range(len(jobs))), dict[int, list[int]]()
    now_s = 0.0
    while waiting:
        taken: list[list[tuple[float, float]]] = [[] for _ in range(NODES)]
        for number, nodes in running.items():
            for node in nodes:
                taken[node].append((now_s, starts[number] + jobs[number].estimate_s))
        for number in list(waiting):
            job = jobs[number]
            for at_s in sorted({now_s, *(end_s for each in taken for _, end_s in each)}):
                until_s = at_s + job.estimate_s
                free = [
                    node
                    for node, each in enumerate(taken)
                    if all(end_s <= at_s or begin_s >= until_s for begin_s, end_s in each)
                ]
                if len(free) >= job.cores:
                    break
            for node in free[: job.cores]:
                taken[node].append((at_s, until_s))
            if at_s == now_s:
                starts[number], running[number] = now_s, free[: job.cores]
                waiting.remove(number)
        now_s = min(starts[number] + jobs[number].run_s for number in running)
        for number in [each for each in running if starts[each] + jobs[each].run_s <= now_s]:
            del running[number]
    return starts


def same_order(ours: list[float], theirs: list[float]) -> float:
    """Return the share of pairs that no simulator starts the other way round."""
    pairs = list(itertools.combinations(range(len(ours)), 2))
    other = [(ours[a] - ours[b]) * (theirs[a] - theirs[b]) < 0 for a, b in pairs]
    return 1.0 - sum(other) / len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    jobs = draw(given.jobs, given.seed)
    version, starts, ends = run_on_slurm(jobs)
    measured = [
        job._replace(run_s=end_s - start_s + 1, estimate_s=job.estimate_s + 1)
        for job, start_s, end_s in zip(jobs, starts, ends, strict=True)
    ]
    found: dict[str, Any] = {"slurm": version, "jobs": len(jobs), "nodes": NODES}
    answers = {policy: simulated(measured, policy) for policy in ("fcfs", "easy", "conservative")}
    answers["conservative, on particular nodes"] = on_particular_nodes(measured)
    for policy, ours in answers.items():
        found[policy] = {
            "pairs_in_the_same_order": same_order(ours, starts),
            "median_difference_s": float(np.median(np.abs(np.subtract(ours, starts)))),
            "largest_difference_s": float(np.abs(np.subtract(ours, starts)).max()),
            "starts_s": ours,
        }
        print(policy, {**found[policy], "starts_s": "..."})
    found |= {"starts_s": starts, "ends_s": ends, "queue": [list(job) for job in measured]}
    save("slurm_backfill", found)


if __name__ == "__main__":
    main()
