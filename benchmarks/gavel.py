"""Gavel's max-min fairness with and without throughputs by GPU type, and first come.

    python benchmarks/gavel.py

Jobs are as in the simulations of Gavel's paper (OSDI 2020, section 7.1), on one GPU each: models
drawn evenly, and times on a V100 of 10^x minutes, x uniform from 1.5 to 3 (80 %) or from 3 to 4.
The cluster has 36 GPUs each of V100, P100 and K80.
"""

import numpy as np
import pandas as pd
from batch_peers import jobs_table
from common import save

from trimtab.batch.interruptions.checkpoints import Checkpoint, with_checkpoints
from trimtab.batch.nodes import parse_nodes
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import simulate_batch
from trimtab.batch.throughputs import read_throughputs
from trimtab.cli.project.conf import configurations

JOBS = 300
POLICIES = ("fcfs", "max_min:aware=0", "max_min")


def draw(per_hour: float, seed: int, models: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    submit_s = np.cumsum(rng.exponential(3600 / per_hour, JOBS))
    long = rng.random(JOBS) < 0.2
    power = np.where(long, rng.uniform(3, 4, JOBS), rng.uniform(1.5, 3, JOBS))
    run_s = 60 * 10**power
    jobs = jobs_table(submit_s - submit_s[0], run_s, run_s, np.ones(JOBS, np.int64))
    jobs = jobs.assign(gpu_milli=1000, model=rng.choice(models, JOBS))
    return with_checkpoints(jobs, Checkpoint(np.inf, 5.0, 5.0))


def main() -> None:
    table = read_throughputs("gavel")
    known = configurations(None)
    cluster = parse_nodes(
        "gpu_v100:9,gpu_p100:9,gpu_k80:9", lambda name: known.option("hardware", name)
    )
    figures: dict[str, object] = {}
    for per_hour in (1.0, 2.0, 3.0):
        found: dict[str, list[float]] = {policy: [] for policy in POLICIES}
        for seed in (1, 2, 3):
            jobs = draw(per_hour, seed, list(table.steps_per_s.index))
            for policy in POLICIES:
                built = build_batch_policy(policy)[1]
                done = simulate_batch(jobs, cluster, built, throughputs=table).schedule
                found[policy].append(float((done["end_s"] - done["submit_s"]).mean()) / 3600)
        figures[f"{per_hour:g} jobs/h, mean completion in h"] = found
        print(per_hour, found, flush=True)
    save("gavel", figures)


if __name__ == "__main__":
    main()
