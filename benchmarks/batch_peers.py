"""Start times of batch queues, job by job, beside those of other simulators.

AccaSim 1.1.3 knows first come, first served, and an EASY of its own; pyss, the simulator of
Feitelson's group, knows EASY and conservative backfilling. The plain simulator of the tests knows
all. Times are whole seconds, and a job runs for one at least: AccaSim starts nothing else at the
instant of a job without length.
"""

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.nodes import pool_of
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import simulate_batch

PROJECT = Path(__file__).parents[1]
sys.path.append(str(PROJECT / "tests/unit/batch"))

from plain_batch import Easy, Job, simulate, start_times  # noqa: E402

POLICIES = {"fcfs": "fcfs", "any": "any_fit", "easy": "easy", "conservative": "conservative"}
FIRST_S = 1_000_000  # AccaSim takes the time 0 for none


class KeptSlot(Easy):
    """EASY as in AccaSim 1.1.3: the first job's start is planned once and kept, and not protected.

    The first job starts at the planned time or after, even if it had room before. Every other
    job with room starts: `EASYBackfilling` passes an empty list of reserved nodes.
    """

    def __init__(self, jobs: Sequence[Job], cores: int) -> None:
        super().__init__(jobs, cores)
        self.planned_s: float | None = None
        self.submitted = 0

    def submit(self, number: int, now_s: float) -> None:
        """Add a job to the queue."""
        super().submit(number, now_s)
        self.submitted += 1

    def next_start_s(self) -> float:
        """Return the planned start once there is nothing else to wait for."""
        idle = not self.running and self.submitted == len(self.jobs)
        return math.inf if not idle or self.planned_s is None else self.planned_s

    def serve(self, now_s: float) -> list[int]:
        """Start jobs and return them."""
        started = []
        if self.planned_s is None or self.planned_s <= now_s:
            before = len(self.waiting)
            started = self.start_in_order(now_s)
            if self.planned_s is None or len(self.waiting) < before:
                self.planned_s = self.shadow()[0] if self.waiting else None
        for number in self.waiting[1:]:
            if self.jobs[number].cores <= self.free:
                self.start(number, now_s)
                started.append(number)
        return started


def table(jobs: Sequence[Job]) -> pd.DataFrame:
    """Return jobs as BATCH_JOBS, a part for each core."""
    submit_s, run_s, estimate_s, cores = np.array(jobs, np.float64).T
    return jobs_table(submit_s, run_s, estimate_s, cores.astype(np.int64))


def jobs_table(
    submit_s: NDArray[np.float64],
    run_s: NDArray[np.float64],
    estimate_s: NDArray[np.float64],
    parts: NDArray[np.int64],
    cpu_milli: NDArray[np.int64] | int = 1000,
    memory_bytes: NDArray[np.int64] | int = 0,
) -> pd.DataFrame:
    """Return BATCH_JOBS."""
    number = np.arange(len(submit_s))
    return pd.DataFrame(
        {
            "job": number,
            "name": number.astype(str),
            "submit_s": submit_s,
            "run_s": run_s,
            "estimate_s": estimate_s,
            "parts": parts,
            "cpu_milli": cpu_milli,
            "gpu_milli": 0,
            "memory_bytes": memory_bytes,
            "distinct": False,
            "gpu_type": "",
            "run_gpu_type": "",
            "user": "",
            "group": "",
            "queue": "",
            "priority": 0,
            "recorded_start_s": np.nan,
            "deadline_s": np.nan,
            "image": "",
            "least_parts": parts,
            "most_parts": parts,
            "serial_share": 0.0,
            "counted": True,
            "model": "",
            "checkpoint_interval_s": np.nan,
            "checkpoint_cost_s": np.nan,
            "restart_cost_s": np.nan,
        }
    )


def read_log(path: Path, jobs: int | None = None) -> list[Job]:
    """Return the first jobs of an SWF file: field 9 is the estimate, or else the run time."""
    columns = np.loadtxt(path, comments=";", usecols=(1, 3, 8, 4))[:jobs].astype(int)
    return [
        Job(submit_s, max(run_s, 1), max(run_s, estimate_s, 1), cores)
        for submit_s, run_s, estimate_s, cores in columns.tolist()
        if cores > 0 and run_s >= 0
    ]


def ours(jobs: Sequence[Job], cores: int, discipline: str) -> list[float]:
    policy = build_batch_policy(POLICIES[discipline])[1]
    starts: list[float] = (
        simulate_batch(table(jobs), pool_of(cores), policy).schedule["start_s"].tolist()
    )
    return starts


def accasim(python: Path, jobs: Sequence[Job], cores: int, discipline: str) -> list[float]:
    return _peer(jobs, [str(python), str(PROJECT / "benchmarks/accasim_starts.py")],
                 str(cores), discipline)  # fmt: skip


def pyss(
    python: Path, source: Path, jobs: Sequence[Job], cores: int, discipline: str
) -> list[float]:
    program = [str(python), "-O", str(PROJECT / "benchmarks/pyss_starts.py"), str(source)]
    return _peer(jobs, program, str(cores), discipline)


def _peer(jobs: Sequence[Job], program: list[str], *words: str) -> list[float]:
    """Run a peer: program, SWF file, further words, file of its answer."""
    with tempfile.TemporaryDirectory() as folder:
        log, answer = Path(folder, "log.swf"), Path(folder, "starts.json")
        log.write_text(
            "".join(
                f"{number} {job.submit_s + FIRST_S} -1 {job.run_s} {job.cores} -1 -1 {job.cores}"
                f" {job.estimate_s} -1 1 1 1 1 1 1 -1 -1\n"
                for number, job in enumerate(jobs)
            )
        )
        subprocess.run([*program, str(log), *words, str(answer)], check=True)
        starts: Mapping[str, int] = json.loads(answer.read_text())
    return [starts[str(number)] - FIRST_S for number in range(len(jobs))]


def compare(
    jobs: Sequence[Job],
    cores: int,
    *,
    accasim_python: Path | None = None,
    pyss_python: Path | None = None,
    pyss_source: Path | None = None,
) -> dict[str, object]:
    """Count the jobs that start at the same time, by discipline and simulator."""
    found: dict[str, object] = {"jobs": len(jobs), "cores": cores}
    for discipline in POLICIES:
        starts = ours(jobs, cores, discipline)
        equal = {"plain": same(starts, start_times(jobs, cores, discipline))}
        if accasim_python and discipline in ("fcfs", "easy"):
            theirs = accasim(accasim_python, jobs, cores, discipline)
            equal["accasim"] = same(starts, theirs)
            if discipline == "easy":
                explained = simulate(jobs, KeptSlot(jobs, cores))
                equal["accasim_as_plain_kept_slot"] = same(explained, theirs)
        if pyss_python and pyss_source and discipline != "any":
            equal["pyss"] = same(starts, pyss(pyss_python, pyss_source, jobs, cores, discipline))
        waits_s = np.subtract(starts, [job.submit_s for job in jobs])
        found[discipline] = {
            "equal": equal,
            "mean_wait_s": float(waits_s.mean()),
            "longest_wait_s": float(waits_s.max()),
        }
        print(discipline, found[discipline], flush=True)
    return found


def same(ours: Sequence[float], theirs: Sequence[float]) -> int:
    return sum(one == other for one, other in zip(ours, theirs, strict=True))


def without_ties(jobs: Sequence[Job], seed: int) -> list[Job]:
    """Return the jobs with times in milliseconds, drawn within their second.

    pyss handles a submission before an end of the same instant, and each end by itself.
    """
    draws = np.random.default_rng(seed).integers(0, 1000, (len(jobs), 2)).tolist()
    moved = [
        Job(
            job.submit_s * 1000 + submit_ms,
            job.run_s * 1000 + run_ms,
            job.estimate_s // job.run_s * (job.run_s * 1000 + run_ms),
            job.cores,
        )
        for job, (submit_ms, run_ms) in zip(jobs, draws, strict=True)
    ]
    moved.sort(key=lambda job: job.submit_s)
    return moved
