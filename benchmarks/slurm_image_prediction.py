"""What the model of `trimtab worth` predicts of a queue, from measurements of single jobs."""

import csv
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from slurm_backfill import cluster_of
from slurm_image_nodes import MBIT_PER_S, NODES, POLICY, SIDES

from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.readers.read import read_jobs
from trimtab.batch.simulate import BatchResult, simulate_batch
from trimtab.worth.fleet_images import Assumed, read_fleet
from trimtab.worth.stages import Plan, Stage

JOBS = 50
SHARES = {"sklearn": 0.4, "pandas": 0.3, "yamllint": 0.3}  # of jobs
LOAD = 0.6  # of the nodes, without pulls and unpacking
DRAWS = 20
STAGES = {"original": (), "slim": (Stage.SLIM, Stage.START)}


class QueuedJob(NamedTuple):
    """A job: its submission, its program, and its work relative to the measured jobs'."""

    submit_s: float
    name: str
    amount: float


def draw(measured: dict[str, Any], seed: int) -> list[QueuedJob]:
    """Draw a queue. Slurm decides once a second, so jobs of one length would keep step with it."""
    rng = np.random.default_rng(seed)
    names = rng.choice(list(SHARES), JOBS, p=list(SHARES.values()))
    warm_s = [warm_of(measured, f"{name}-original") + run_of(measured, name) for name in names]
    gaps_s = rng.exponential(np.mean(warm_s) / NODES / LOAD, JOBS)
    submit_s = (np.cumsum(gaps_s) - gaps_s[0]).tolist()
    amounts = rng.uniform(0.5, 1.5, JOBS).tolist()
    return list(map(QueuedJob, submit_s, names.tolist(), amounts))


def warm_of(measured: dict[str, Any], image: str) -> float:
    return float(statistics.median(measured["images"][image]["start_warm_s"]))


def run_of(measured: dict[str, Any], name: str, amount: float = 1.0) -> float:
    """Return a program's run time after its start, and what Slurm takes for a job on average."""
    run_s = statistics.median(measured["images"][f"{name}-original"]["run_warm_s"])
    return float(amount * run_s + statistics.mean(measured["slurm_takes_s"]))


def as_fast_as(
    measured: dict[str, Any], queue: Sequence[QueuedJob], jobs: Sequence[dict[str, Any]], side: str
) -> dict[str, Any]:
    """Return what was measured, with the times of unpacking and programs in a queue that ran."""
    images = dict(measured["images"])
    for name in SHARES:
        own = [(job["times"], drawn.amount)
               for job, drawn in zip(jobs, queue, strict=True) if drawn.name == name]  # fmt: skip
        run_s = sum(times["ended"] - times["ready"] for times, _ in own)
        images[f"{name}-original"] = {
            **images[f"{name}-original"], "run_warm_s": [run_s / sum(amount for _, amount in own)],
        }  # fmt: skip
        images[f"{name}-{side}"] = {
            **images[f"{name}-{side}"],
            "start_warm_s": [times["ready"] - times["there"] for times, _ in own],
            "unpack_s": [times["there"] - times["pulled"] for times, _ in own if "pulled" in times],
        }
    return measured | {"images": images}


def unpacked_mb_per_s(measured: dict[str, Any]) -> float:
    """Return how fast a node unpacks the original images, in MB of compressed bytes."""
    found = [measured["images"][f"{name}-original"] for name in SHARES]
    unpack_s = sum(statistics.median(each["unpack_s"]) for each in found)
    return float(sum(each["bytes"] for each in found) / unpack_s / 1e6)


def predict(
    measured: dict[str, Any], queue: Sequence[QueuedJob], folder: Path, *, by_size: bool = False
) -> dict[str, Any]:
    """Return the predicted responses of each side, from `jobs.csv` and `images.csv` in `folder`.

    They are means over DRAWS of what Slurm takes for each job, as fractions of a second decide
    which node is free first, and so which nodes pull. With `by_size`, pull and unpacking are
    modelled by the images' sizes.
    """
    jobs = [(job.submit_s, run_of(measured, job.name, job.amount), 1, job.name) for job in queue]
    write_csv(folder / "jobs.csv", ("submit_s", "run_s", "cores", "image"), jobs)
    rows = []
    for name in SHARES:
        row: list[Any] = [name]
        for side in SIDES:
            found = measured["images"][f"{name}-{side}"]
            warm_s = warm_of(measured, f"{name}-{side}")
            fetch_s = sum(statistics.median(found[step]) for step in ("pull_s", "unpack_s"))
            row += [found["bytes"], "" if by_size else fetch_s + warm_s, warm_s]
        rows.append(row)
    header = ["image", *(f"{prefix}{each}" for prefix in ("", "slim_")
                         for each in ("bytes", "cold_start_s", "warm_start_s"))]  # fmt: skip
    write_csv(folder / "images.csv", header, rows)
    assumed = Assumed(MBIT_PER_S, unpacked_mb_per_s(measured))
    fleet = read_fleet(folder / "images.csv", assumed)
    plan = Plan(fleet, (build_batch_policy(POLICY)[1], None))
    table = read_jobs(folder / "jobs.csv").jobs
    takes_s = np.array(measured["slurm_takes_s"])
    random = np.random.default_rng(0)
    drawn = [
        table.assign(run_s=table["run_s"] - takes_s.mean() + random.choice(takes_s, len(table)))
        for _ in range(DRAWS)
    ]
    return {
        side: _summed_up([_replayed(each, plan, stages) for each in drawn])
        for side, stages in STAGES.items()
    }


def _replayed(jobs: pd.DataFrame, plan: Plan, stages: tuple[Stage, ...]) -> BatchResult:
    """Replay jobs as `trimtab worth` does."""
    return simulate_batch(
        plan.jobs(jobs, stages),
        cluster_of(NODES),
        plan.policy(stages),
        images=plan.starts(stages),
    )


def _summed_up(draws: Sequence[BatchResult]) -> dict[str, Any]:
    response_s = np.array(
        [each.schedule["end_s"] - each.schedule["submit_s"] for each in draws], np.float64
    )
    return {
        "response_s": response_s.mean(axis=0).tolist(),
        "mean_response_s": response_s.mean(axis=1).tolist(),  # of each draw
        "pulls": statistics.mean(sum(each.pulls.values()) for each in draws),
    }


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
