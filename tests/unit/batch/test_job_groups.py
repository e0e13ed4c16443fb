"""Waiting jobs in groups start as if each were tried, also in long queues."""

import numpy as np
import pandas as pd
import pytest
from small_queues import jobs_of, node_type

from trimtab.batch.images import ImageStart
from trimtab.batch.kernel.groups import with_groups
from trimtab.batch.kernel.layout import BatchState
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.simulate import simulate_batch
from trimtab.batch.sleep import Sleep
from trimtab.clusters.cluster import Cluster

CLUSTER = Cluster(
    (node_type("wide", 8, gpus=4), node_type("fast", 4, gpus=2, speed=2.0), node_type("bare", 6)),
    (3, 2, 2),
)


def overloaded(seed: int, kinds: int, count: int = 600) -> pd.DataFrame:
    """Return jobs of several demands that arrive faster than the nodes serve them."""
    random = np.random.default_rng(seed)
    demands = [
        {
            "cpu_milli": int(random.choice([250, 1000, 1000, 2000, 3000])),
            "gpu_milli": int(random.choice([0, 0, 300, 500, 1000, 2000])),
            "parts": int(random.choice([1, 1, 1, 2, 4])),
            "distinct": bool(random.random() < 0.2),
            "gpu_type": str(random.choice(["", "", "wide", "fast"])),
        }
        for _ in range(kinds)
    ]
    rows = []
    for at_s in np.cumsum(random.choice([0, 0, 0, 1, 2.5], count)):
        run_s = float(random.choice([0.0, 1.0, 4.0, 9.0, 30.0, 55.5]))
        estimate_s = run_s * float(random.choice([1.0, 1.0, 1.5, 4.0]))
        rows.append(
            {"submit_s": float(at_s), "run_s": run_s, "estimate_s": estimate_s}
            | demands[random.integers(kinds)]
        )
    return jobs_of(rows)


@pytest.mark.parametrize("policy", ["easy", "any_fit", "shortest", "heats", "fair_share"])
@pytest.mark.parametrize("kinds", [1, 5, 60])
@pytest.mark.parametrize("sleep", [None, Sleep(5.0, 3.0)])
def test_groups_start_as_single_jobs_do(
    policy: str, kinds: int, sleep: Sleep | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    grouped: list[int] = []

    def noted(state: BatchState, *, final: bool) -> BatchState:
        state = with_groups(state, final=final)
        grouped.append(len(state.groups))
        return state

    images = {"one": ImageStart(9.0, 1.0, None), "other": ImageStart(2.0, 0.5, 10**9)}
    for seed in range(5):
        jobs = overloaded(seed, kinds)
        jobs["image"] = np.resize(["", "", "one", "other", "one"][: seed + 1], len(jobs))
        schedules = []
        for make_groups in (noted, lambda state, final: state):
            monkeypatch.setattr("trimtab.batch.simulate.with_groups", make_groups)
            _, built = build_batch_policy(policy)
            result = simulate_batch(
                jobs, CLUSTER, built, sleep=sleep, images=images, keep_allocations=True
            )
            assert result.allocations is not None
            schedules.append((result.schedule, result.allocations))
        for one, other in zip(*schedules, strict=True):
            pd.testing.assert_frame_equal(one, other, check_exact=True)
        assert schedules[0][0]["wait_s"].max() > 30  # else nothing is backfilled
    assert min(grouped) >= 1
