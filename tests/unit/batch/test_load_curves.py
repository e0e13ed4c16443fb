"""Energy on nodes with a load curve: against the cluster simulator, and second by second."""

import numpy as np
import pandas as pd
from small_queues import jobs_of

from trimtab.batch.policies.base import BatchPolicy
from trimtab.batch.policies.fcfs import FirstComeFirstServed
from trimtab.batch.simulate import simulate_batch
from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.policies import fcfs
from trimtab.simulation.simulate import simulate

CURVE = (0.0, 0.3, 0.45, 0.55, 0.62, 0.7, 0.76, 0.82, 0.88, 0.94, 1.0)


def node(cores: int, curve: tuple[float, ...] = CURVE) -> NodeType:
    return NodeType("node", cores * 1000, 1 << 40, 20.0, (Level(1.0, 100.0),), load_curve=curve)


def queue(count: int, most_parts: int) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return jobs_of([
        {"submit_s": float(10 * at), "run_s": float(rng.integers(5, 80)),
         "cpu_milli": int(rng.integers(1, 4)) * 500, "parts": int(rng.integers(1, most_parts + 1))}
        for at in range(count)
    ])  # fmt: skip


def test_energy_is_that_of_the_cluster_simulator() -> None:
    jobs, cluster = queue(60, 1), Cluster((node(3),), (1,))
    found = simulate_batch(jobs, cluster, FirstComeFirstServed())
    trace = jobs[["job", "cpu_milli", "gpu_milli", "memory_bytes", "priority"]].assign(
        arrival_s=jobs["submit_s"], work_s=jobs["run_s"], job_class="any"
    )
    policy = fcfs.FirstComeFirstServed(head_of_line=True)
    other = simulate(cluster, [JobClass("any")], trace, policy).jobs
    assert other is not None
    other = other.sort_values("job")
    np.testing.assert_allclose(found.schedule["start_s"], other["start_s"])
    np.testing.assert_allclose(found.schedule["energy_j"], other["energy_j"])


def test_energy_of_many_nodes_is_the_sum_of_all_seconds() -> None:
    jobs, cluster = queue(60, 5), Cluster((node(3),), (3,))
    found = simulate_batch(jobs, cluster, BatchPolicy(), keep_allocations=True)
    rows = found.allocations
    assert rows is not None
    runs = found.runs.iloc[rows["run"]].reset_index(drop=True)
    cores = rows["parts"] * jobs["cpu_milli"].to_numpy()[rows["job"]] / 1000
    sum_j = 0.0
    for second in np.arange(0.5, found.schedule["end_s"].max()):
        now = ((runs["start_s"] < second) & (second < runs["end_s"])).to_numpy()
        loads = cores[now].groupby(rows["node"][now]).sum() / 3
        sum_j += 100.0 * float(np.interp(loads, np.linspace(0, 1, 11), CURVE).sum())
    np.testing.assert_allclose(found.active_energy_j, sum_j)
    linear = simulate_batch(jobs, Cluster((node(3, ()),), (3,)), BatchPolicy())
    assert found.active_energy_j > linear.active_energy_j
