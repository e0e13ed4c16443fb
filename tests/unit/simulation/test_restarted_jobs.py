"""What a moved job loses: nothing, a pause for its state, or all of its work."""

import numpy as np
import pandas as pd
import pytest

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.policies.heats.policy import Heats
from trimtab.records.tables import SCHEDULED
from trimtab.simulation.simulate import simulate

# Two jobs of one core: the second takes the slow node, and moves when the first ends at 10 s.
FAST = NodeType("fast", 1000, 8, 5.0, (Level(2.0, 40.0),), network_bytes_per_s=4.0)
SLOW = NodeType("slow", 1000, 8, 5.0, (Level(1.0, 20.0),), network_bytes_per_s=4.0)
TRACE = pd.DataFrame(
    {
        "job": [0, 1],
        "arrival_s": [0.0, 0.0],
        "job_class": "k_means",
        "priority": 0,
        "cpu_milli": 1000,
        "gpu_milli": 0,
        "memory_bytes": 1,
        "work_s": [20.0, 40.0],
    }
)
TICK_S, COLD_START_S, STATE_S = 16.0, 1.0, 2.0


def moved(*, restarts: bool, state_bytes: int | None, reference: bool) -> dict[str, float]:
    """Return the row of the second job."""
    run_time_s, energy_j = (np.reshape(table, (1, 2, 1)) for table in ([1.0, 2.0], [1.0, 1.0]))
    policy = Heats(
        run_time_s, energy_j, [1, 1], energy_weight=0.0, tick_s=TICK_S, restarts_moved=restarts
    )
    classes = [JobClass("k_means", cold_start_s=COLD_START_S, state_bytes=state_bytes)]
    cluster = Cluster((FAST, SLOW), (1, 1))
    result = simulate(cluster, classes, TRACE, policy, reference=reference)
    assert result.jobs is not None and list(result.jobs.columns) == SCHEDULED.names
    (row,) = result.jobs[result.jobs["job"] == 1].to_dict("records")
    return {str(name): value for name, value in row.items()}


@pytest.mark.parametrize("reference", [False, True])
def test_a_moved_job_continues_after_a_pause_for_its_state(reference: bool) -> None:
    row = moved(restarts=False, state_bytes=8, reference=reference)
    # Works from 1 to 17 s on the slow node, where the fast one is ready; 24 s are left, at speed 2.
    assert row["migrations"] == 1 and row["wasted_s"] == 0.0
    assert row["finish_s"] == pytest.approx(TICK_S + COLD_START_S + STATE_S + 24 / 2)
    assert row["execution_s"] == row["finish_s"]


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("state_bytes", [None, 8])
def test_a_restarted_job_loses_its_work_and_moves_no_state(
    reference: bool, state_bytes: int | None
) -> None:
    row = moved(restarts=True, state_bytes=state_bytes, reference=reference)
    begins_s = TICK_S + COLD_START_S
    assert row["migrations"] == 1 and row["evictions"] == 0
    assert row["finish_s"] == pytest.approx(begins_s + 40 / 2)
    assert row["wasted_s"] == pytest.approx(begins_s)
    assert row["execution_s"] == pytest.approx(40 / 2)
    # Cold start on the slow node, 16 s of work there, then all of it at twice the power.
    overlap_j = 40.0 * COLD_START_S
    assert row["energy_j"] == pytest.approx(20.0 * begins_s + overlap_j + 40.0 * 20)
