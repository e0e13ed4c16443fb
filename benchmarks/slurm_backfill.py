"""Why the real Slurm starts each job when it does, beside first come, EASY and conservative.

    python benchmarks/slurm_backfill.py                        # root, after make deps-slurm
    python benchmarks/slurm_backfill.py --log NASA.swf --nodes 16 --width 8 --skip 10000

Slurm runs a queue three times: with `sched/builtin`, with `sched/backfill` that reserves for the
first waiting job only (EASY), and with its default, which reserves for all. slurmctld's log gives
the instants of its cycles and how long each job held its nodes.

Each step of `STEPS` adds one of Slurm's rules to the simulator's policy. A job's cause is the last
step that moves its start. A job that the last step does not start in Slurm's cycle is unexplained.

Without a log, jobs are drawn, submitted while the partition is down, and released together. Of a
log, widths are divided by --width, run times scaled to --work-s seconds of all nodes, arrivals to
two thirds of that. Slurm's limits are minutes: they are 20 times the scaled estimate, rounded up.
"""

import argparse
import itertools
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from batch_peers import jobs_table, read_log
from common import load, save
from plain_batch import Easy, FirstComeFirstServed, Job, Queue
from slurm_log import SlurmLog, read_slurm_log
from slurm_plans import Anew, Arrival, AsSlurm, OnNodes, Renewed, replay

from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import simulate_batch
from trimtab.clusters.cluster import Cluster, Level, NodeType
from trimtab.execution.slurm.cluster import SlurmCluster

PATIENCE_S = 900.0
STRETCH = 20  # limits are in minutes, run times in seconds
SCHEDULERS = {
    "fcfs": ("SchedulerType=sched/builtin", ""),
    "easy": ("SchedulerType=sched/backfill", ",bf_job_part_count_reserve=1"),
    "conservative": ("SchedulerType=sched/backfill", ""),
}
LOGGED = "SlurmctldDebug=debug\nDebugFlags=Backfill,TraceJobs\nLogTimeFormat=iso8601_ms\n"
CAUSES = {
    "cycles": "Slurm decides in cycles, about a second apart; the simulator at each event",
    "planned anew": "each cycle forgets all plans, and plans anew in order of submission",
    "named nodes": "a plan names its nodes; jobs behind keep off these, not off any so many",
    "search": "a job is tried at ends of plans only; a plan that begins as it ends is in its way",
    "groups of ends": "for a plan, running jobs end in groups of 30 s and more",
    "completing nodes": "a job planned on nodes that still complete another waits a second more",
}
_STARTING = Lock()  # a Slurm's ports are free until it listens


class Step(NamedTuple):
    """A cause that a step adds, and its queue of (jobs, nodes)."""

    cause: str
    queue: Callable[[list[Job], int], Queue]


STEPS = {
    "fcfs": [Step("cycles", FirstComeFirstServed), Step("completing nodes", AsSlurm)],
    "easy": [
        Step("cycles", Easy),
        Step("named nodes", lambda jobs, nodes: OnNodes(jobs, nodes, 1)),
        Step("search", lambda jobs, nodes: AsSlurm(jobs, nodes, 1, groups=False)),
        Step("groups of ends", lambda jobs, nodes: AsSlurm(jobs, nodes, 1)),
        Step("completing nodes", lambda jobs, nodes: AsSlurm(jobs, nodes, 1)),
    ],
    "conservative": [
        Step("cycles", Renewed),
        Step("planned anew", Anew),
        Step("named nodes", OnNodes),
        Step("search", lambda jobs, nodes: AsSlurm(jobs, nodes, groups=False)),
        Step("groups of ends", AsSlurm),
        Step("completing nodes", AsSlurm),
    ],
}


def cluster_of(nodes: int) -> Cluster:
    return Cluster((NodeType("core", 1000, 8 << 30, 0.0, (Level(1.0, 0.0),)),), (nodes,))


def draw(count: int, nodes: int, seed: int) -> list[Job]:
    """Draw jobs of 2 to 12 s; limits are whole minutes, as Slurm's are."""
    rng = np.random.default_rng(seed)
    width = rng.choice([1, 2, 3, 4, 5, 6], count, p=[0.4, 0.25, 0.1, 0.1, 0.05, 0.1])
    return [
        Job(0.0, int(run_s), 60 * int(minutes), min(int(wide), nodes))
        for run_s, minutes, wide in zip(
            rng.integers(2, 13, count), rng.choice([1, 2, 5, 10], count), width, strict=True
        )
    ]


def scaled(jobs: Sequence[Job], nodes: int, width: int, work_s: float) -> list[Job]:
    """Scale an excerpt of a log to `work_s` seconds of all nodes."""
    parts = [min(nodes, math.ceil(job.cores / width)) for job in jobs]
    area = sum(job.run_s * wide for job, wide in zip(jobs, parts, strict=True))
    scale = work_s * nodes / area
    first_s, last_s = jobs[0].submit_s, jobs[-1].submit_s
    pace = work_s * 2 / 3 / max(last_s - first_s, 1)
    return [
        Job(
            (job.submit_s - first_s) * pace,
            max(1, min(round(job.run_s * scale), 45)),
            60 * max(1, math.ceil(STRETCH * job.estimate_s * scale / 60)),
            wide,
        )
        for job, wide in zip(jobs, parts, strict=True)
    ]


class LoggedSlurm(SlurmCluster):
    """A Slurm with a given scheduler, whose log has its cycles."""

    def __init__(self, cluster: Cluster, kind: str, options: str) -> None:
        super().__init__(cluster)
        self.kind, self.options = kind, f"bf_resolution=1,bf_max_job_test=1000{options}"

    def _launch(self, name: str, program: str, *arguments: str) -> None:
        if name == "slurmctld":
            plain = self.conf.read_text()
            more = plain.replace("bf_interval=1", f"bf_interval=1,{self.options}")
            self.conf.write_text(f"{more}{self.kind}\n{LOGGED}")
        super()._launch(name, program, *arguments)


def run_on_slurm(jobs: Sequence[Job], nodes: int, scheduler: str) -> tuple[str, SlurmLog]:
    """Run jobs on a Slurm of its own; return its version and what its log says."""
    slurm = LoggedSlurm(cluster_of(nodes), *SCHEDULERS[scheduler])
    with ExitStack() as stack:
        with _STARTING:
            stack.enter_context(slurm)
        held = not any(job.submit_s for job in jobs)
        if held:
            slurm.call("scontrol", "update", "PartitionName=main", "State=DOWN")
        begun = time.monotonic()
        for job in jobs:
            time.sleep(max(0.0, begun + job.submit_s - time.monotonic()))
            submit(slurm, job)
        if held:
            slurm.call("scontrol", "update", "PartitionName=main", "State=UP")
        while slurm.call("squeue", "--noheader").strip():
            if time.monotonic() > begun + PATIENCE_S:
                raise SystemExit(f"{scheduler}: jobs are left after {PATIENCE_S:g} s")
            time.sleep(1)
        time.sleep(1)  # the last job's nodes complete it
        log = read_slurm_log((slurm.folder / "log/slurmctld.log").read_text().splitlines())
        return slurm.call("sinfo", "--version").strip(), log


def submit(slurm: SlurmCluster, job: Job) -> None:
    slurm.call(
        "sbatch",
        f"--nodes={job.cores}",
        f"--ntasks={job.cores}",
        "--mem=1M",
        f"--time={int(job.estimate_s) // 60}",
        "--output=/dev/null",
        stdin=f"#!/bin/sh\nsleep {job.run_s}\n",
    )


def explained(jobs: Sequence[Job], nodes: int, scheduler: str, log: SlurmLog) -> dict[str, Any]:
    """Return each job's start in Slurm and after each step, and its cause."""
    numbers = sorted(log.submitted)
    arrivals = [
        Arrival(
            log.submitted[number],
            log.ended[number] - log.started[number],
            log.ready[number] - log.ended[number],
            int(job.estimate_s),
            job.cores,
        )
        for number, job in zip(numbers, jobs, strict=True)
    ]
    real = [log.started[number] for number in numbers]
    first = log.cycles[0].at
    starts = {"simulator": at_cycles(simulated(arrivals, nodes, scheduler, first), log)}
    for cause, queue in STEPS[scheduler]:
        limits = [Job(0.0, 0.0, each.limit_s, each.nodes) for each in arrivals]
        starts[cause] = replay(
            arrivals, log.cycles, queue(limits, nodes), completes=cause == "completing nodes"
        )
    causes = [cause_of([each[at] for each in starts.values()], list(starts), real[at])
              for at in range(len(jobs))]  # fmt: skip
    last = list(starts.values())[-1]
    return {
        "jobs": len(jobs),
        "starts_as_slurm": sum(a == b for a, b in zip(last, real, strict=True)),
        "pairs_in_the_same_order": {name: same_order(each, real) for name, each in starts.items()},
        "starts_as_slurm_after_step": {
            name: sum(a == b for a, b in zip(each, real, strict=True))
            for name, each in starts.items()
        },
        "causes": dict(Counter(causes)),
        "table": [
            {
                "job": at,
                "nodes": job.cores,
                "limit_s": job.estimate_s,
                "submit_s": (arrivals[at].at - first) / 1e9,
                "held_s": (arrivals[at].ran + arrivals[at].completed) / 1e9,
                "start_s": (real[at] - first) / 1e9,
                "steps_s": {name: (each[at] - first) / 1e9 for name, each in starts.items()},
                "cause": causes[at],
            }
            for at, job in enumerate(jobs)
        ],
    }


def simulated(arrivals: Sequence[Arrival], nodes: int, policy: str, first: int) -> list[float]:
    """Return the simulator's starts, in ns; jobs that came before `first` come then."""
    submit_s = np.array([max(each.at - first, 0) for each in arrivals]) / 1e9
    held_s = np.array([each.ran + each.completed for each in arrivals]) / 1e9
    limit_s = np.array([each.limit_s for each in arrivals], np.float64)
    table = jobs_table(submit_s, held_s, limit_s, np.array([each.nodes for each in arrivals]))
    result = simulate_batch(table, cluster_of(nodes), build_batch_policy(policy)[1])
    return [first + start_s * 1e9 for start_s in result.schedule["start_s"].tolist()]


def at_cycles(starts: Sequence[float], log: SlurmLog) -> list[int]:
    """Return the first cycle at or after each start; after the last cycle, the start itself."""
    cycles = np.array([cycle.at for cycle in log.cycles])
    places = np.searchsorted(cycles, starts)
    return [
        int(cycles[place]) if place < len(cycles) else round(start)
        for start, place in zip(starts, places, strict=True)
    ]


def cause_of(starts: Sequence[int], names: Sequence[str], real: int) -> str:
    """Return the last step that moves a start, "equal" without one, or "unexplained"."""
    if starts[-1] != real:
        return "unexplained"
    moves = [name for (one, other), name in zip(itertools.pairwise(starts), names[1:], strict=True)
             if one != other]  # fmt: skip
    return moves[-1] if moves else "equal"


def same_order(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the share of pairs that no simulator starts the other way round."""
    pairs = list(itertools.combinations(range(len(ours)), 2))
    other = [(ours[a] - ours[b]) * (theirs[a] - theirs[b]) < 0 for a, b in pairs]
    return 1.0 - sum(other) / len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, help="an SWF file; else jobs are drawn")
    parser.add_argument("--skip", type=int, default=0, help="jobs of the log before the excerpt")
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--width", type=int, default=1, help="processors of the log per node")
    parser.add_argument("--work-s", type=float, default=150.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.log is None:
        name, jobs = "drawn", draw(given.jobs, given.nodes, given.seed)
    else:
        excerpt = read_log(given.log, given.skip + given.jobs)[given.skip :]
        name, jobs = given.log.name, scaled(excerpt, given.nodes, given.width, given.work_s)
    with ThreadPoolExecutor(len(SCHEDULERS)) as threads:
        runs = threads.map(lambda each: run_on_slurm(jobs, given.nodes, each), SCHEDULERS)
        found: dict[str, Any] = {"nodes": given.nodes, "skip": given.skip, "width": given.width}
        for scheduler, (version, log) in zip(SCHEDULERS, runs, strict=True):
            found[scheduler] = explained(jobs, given.nodes, scheduler, log)
            found["slurm"] = version
            print(name, scheduler, {**found[scheduler], "table": "..."}, flush=True)
    queues = (load("slurm_backfill") or {}).get("queues", {})
    save("slurm_backfill", {"causes": CAUSES, "queues": {**queues, name: found}})  # type: ignore[dict-item]


if __name__ == "__main__":
    main()
