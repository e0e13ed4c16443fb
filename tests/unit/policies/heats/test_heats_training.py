"""Training HEATS on probes, and again on what jobs really took."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.errors import UserError
from trimtab.policies.facts import Asked, PolicyInputs, probe_nodes
from trimtab.policies.heats.policy import Heats
from trimtab.policies.heats.training import HeatsParameters, Maintenance, train
from trimtab.policies.registry import build_policy
from trimtab.records.tables import SCHEDULED
from trimtab.simulation.simulate import simulate

SLOW = NodeType("slow", 4000, 2**33, 10.0, (Level(1.0, 40.0),))
FAST = NodeType("fast", 4000, 2**33, 10.0, (Level(2.0, 100.0),))
CLUSTER = Cluster((SLOW, FAST), (1, 1))
CLASSES = [JobClass("job")]
ASKED = [Asked(2.0, 1.0, 10.0)]
FACTS = PolicyInputs(CLUSTER, CLASSES, ASKED, probe_nodes(CLUSTER, CLASSES, ASKED))


def finished(*rows: dict[str, object]) -> pd.DataFrame:
    plain = dict.fromkeys(SCHEDULED.names, 0) | {"job_class": "job", "execution_s": 1.0}
    return pd.DataFrame([plain | row for row in rows])


def maintenance_of(given: HeatsParameters) -> Maintenance:
    return Maintenance(train(FACTS, given), FACTS, given)


def predicted_s(policy: Heats, node_type: int) -> float:
    return float(policy.run_time_s[0, node_type, 0])


def test_probing_tells_the_run_time_and_the_energy() -> None:
    policy = build_policy("heats", {}, FACTS)
    assert isinstance(policy, Heats)
    assert [predicted_s(policy, kind) for kind in (0, 1)] == pytest.approx([10.0, 5.0])
    assert policy.energy_j[0, :, 0] == pytest.approx([20 * 10.0, 50 * 5.0])


@pytest.mark.parametrize("restarts", [True, False])
def test_a_retrained_policy_restarts_moved_jobs_as_the_first_one(restarts: bool) -> None:
    parameters = {"restarts_moved": restarts, "maintenance_s": 60}
    policy = build_policy("heats", parameters, FACTS)
    assert policy.restarts_moved is restarts
    next_policy = policy.maintain(finished(), 60.0)
    assert next_policy is not None and next_policy.restarts_moved is restarts


def test_the_power_of_gpus_is_in_the_energy_and_tells_jobs_apart() -> None:
    """Two cores and a GPU take 10 s or 5 s; two cores alone draw nothing of the GPU."""
    lean = NodeType("lean", 4000, 2**33, 60.0, (Level(1.0, 40.0, 50.0),), gpu_milli=1000)
    fast = NodeType("fast", 4000, 2**33, 90.0, (Level(2.0, 100.0, 300.0),), gpu_milli=2000)
    cluster, classes = Cluster((lean, fast), (1, 1)), [JobClass("on_gpu"), JobClass("plain")]
    asked = [Asked(2.0, 1.0, 10.0, gpus=1.0), Asked(2.0, 1.0, 10.0)]
    facts = PolicyInputs(cluster, classes, asked, probe_nodes(cluster, classes, asked))
    policy = build_policy("heats", {}, facts)
    assert isinstance(policy, Heats)
    assert policy.energy_j[:, :, 0].ravel().tolist() == pytest.approx(
        [(20 + 50) * 10, (50 + 300) * 5, 20 * 10, 50 * 5]
    )
    counted = build_policy("heats", {"idle_in_energy": True}, facts)
    assert isinstance(counted, Heats)
    # All of lean's GPUs; half of fast's, and of both nodes' cores.
    shares_j = counted.energy_j[:, :, 0] - policy.energy_j[:, :, 0]
    assert shares_j.ravel().tolist() == pytest.approx([60 * 10, 45 * 5, 30 * 10, 45 * 5])


def test_badly_predicted_jobs_change_the_model_of_their_node_type_alone() -> None:
    maintenance = maintenance_of(HeatsParameters(maintenance_s=60))
    rows = [
        {"node": 0, "finish_s": at, "execution_s": 20.0, "energy_j": 400.0} for at in range(1, 5)
    ]
    policy = maintenance(finished(*rows), 60.0)
    assert predicted_s(policy, 0) == pytest.approx(20.0)
    assert predicted_s(policy, 1) == pytest.approx(5.0)


def test_what_protection_costs_is_not_learnt_as_the_node_s_own() -> None:
    """Jobs inside took twice the 10 s and twice the energy that were predicted outside."""
    classes = [JobClass("job", protection={"slow": 2.0, "fast": 3.0})]
    facts = replace(FACTS, job_classes=classes)
    given = HeatsParameters(maintenance_s=60)
    policy = Maintenance(train(facts, given), facts, given)(
        finished(*[{"node": 0, "finish_s": 1.0, "execution_s": 20.0, "energy_j": 400.0}] * 5), 60.0
    )
    assert [predicted_s(policy, kind) for kind in (0, 1)] == pytest.approx([20.0, 15.0])
    assert policy.energy_j[0, :, 0] == pytest.approx([2 * 20 * 10.0, 3 * 50 * 5.0])


def test_well_predicted_and_moved_jobs_teach_nothing() -> None:
    maintenance = maintenance_of(HeatsParameters(maintenance_s=60))
    good = {"node": 0, "finish_s": 1.0, "execution_s": 10.1, "energy_j": 201.0}
    moved = {"node": 0, "finish_s": 2.0, "execution_s": 50.0, "energy_j": 900.0, "migrations": 1}
    policy = maintenance(finished(*[good] * 5, *[moved] * 5), 60.0)
    assert predicted_s(policy, 0) == pytest.approx(10.0)


def test_what_ended_before_the_window_is_forgotten() -> None:
    maintenance = maintenance_of(HeatsParameters(maintenance_s=60, window_s=30))
    rows = [
        {"node": 0, "finish_s": at, "execution_s": 20.0, "energy_j": 400.0} for at in range(1, 5)
    ]
    assert predicted_s(maintenance(finished(*rows), 100.0), 0) == pytest.approx(10.0)


def test_a_simulation_learns_that_a_node_is_slower_than_its_probes_said() -> None:
    slower = [JobClass("job", slowdown={"fast": 4.0})]
    jobs = np.arange(60)
    trace = pd.DataFrame(
        {
            "job": jobs, "arrival_s": jobs * 25.0, "job_class": "job", "priority": 0,
            "cpu_milli": 2000, "gpu_milli": 0, "memory_bytes": 2**30, "work_s": 10.0,
            "map_tasks": 0, "reduce_tasks": 0, "size": 1.0,
        }
    )  # fmt: skip
    policy = build_policy("heats", {"energy_weight": 0.0, "maintenance_s": 300}, FACTS)
    for _ in range(2):  # what one run has learnt, another does not know
        jobs = simulate(CLUSTER, slower, trace, policy).jobs
        assert jobs is not None
        first, last = jobs.iloc[:10], jobs.iloc[-10:]
        assert set(first["node"]) == {1} and set(last["node"]) == {0}


def test_a_weight_or_a_time_that_is_none_is_an_error() -> None:
    with pytest.raises(UserError, match="energy_weight: 'rand' given"):
        HeatsParameters(energy_weight="rand")
    with pytest.raises(UserError, match="maintenance_s"):
        HeatsParameters(maintenance_s=0)
