"""Nodes and classes of jobs from YAML: sizes, speeds and watts by hand."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from trimtab.clusters.cluster import Outage
from trimtab.clusters.hardware_types import GIB
from trimtab.config.groups.cluster import ClusterConfig, OutageConfig
from trimtab.config.groups.hardware import FrequencyLevel, Hardware
from trimtab.config.groups.trace import JobClassConfig, RoundsConfig
from trimtab.errors import UserError
from trimtab.records.trace_facts import MeasuredWorkload
from trimtab.scheduling.from_config import cluster_of, job_classes_of, measured_work

SMALL = Hardware("small", 2, 10.0, 30.0, 0.5, 8.0, "test", speed=2.0)
LARGE = Hardware(
    "large", 4, 20.0, 100.0, 0.0, 16.0, "test", gpu_count=2, gpu_idle_w=5.0, gpu_busy_w=55.0,
    levels=[FrequencyLevel(1.0, 0.5, 40.0, gpu_busy_w=25.0), FrequencyLevel(2.0, 1.0, 100.0)],
)  # fmt: skip
MEASURED = MeasuredWorkload(
    "w", "small", "original", (3.0, 5.0), 1.5, 1000, 2 * GIB, 8.0, "modelled", ()
)


def test_nodes_have_the_power_of_memory_and_gpus_in_their_idle_power() -> None:
    cluster = cluster_of(
        ClusterConfig("c", {"small": 3, "large": 1}, outages=[OutageConfig(3, 5.0, 9.0)]),
        [SMALL, LARGE],
    )
    small, large = cluster.node_types
    assert cluster.counts == (3, 1)
    assert cluster.outages == (Outage(3, 5.0, 9.0),)
    assert (small.cpu_milli, small.memory_bytes, small.gpu_milli) == (2000, 8 * GIB, 0)
    assert small.idle_w == 10 + 0.5 * 8
    assert [(level.speed, level.active_w) for level in small.levels] == [(2.0, 20.0)]
    assert (large.idle_w, large.gpu_milli) == (20 + 2 * 5, 2000)
    assert [(one.speed, one.active_w, one.gpu_active_w) for one in large.levels] == [
        (0.5, 20.0, 20.0), (1.0, 80.0, 50.0)
    ]  # fmt: skip


def test_the_slices_of_a_gpu_are_those_of_the_yaml() -> None:
    for machine, slices in ((LARGE, 1000), (replace(LARGE, gpu_slices=7), 7)):
        (large,) = cluster_of(ClusterConfig("c", {"large": 40}), [machine]).node_types
        assert (large.gpu_milli, large.gpu_slices) == (2000, slices)
    for wrong in ({"gpu_slices": 0}, {"gpu_slices": 1001}, {"gpu_count": 64}):
        with pytest.raises(ValidationError):
            replace(LARGE, **wrong)


def test_an_engine_is_one_node_whose_lowest_frequency_has_speed_1() -> None:
    cluster = cluster_of(ClusterConfig("e", {"large": 3}, engine_slots=20), [LARGE])
    (engine,) = cluster.node_types
    assert (cluster.counts, engine.cpu_milli, engine.idle_w) == ((1,), 20_000, 3 * 30)
    assert [(level.speed, level.active_w) for level in engine.levels] == [(1.0, 60.0), (2.0, 240.0)]
    with pytest.raises(UserError, match="expected one node type, small, large given"):
        cluster_of(ClusterConfig("e", {"small": 1, "large": 1}, engine_slots=2), [SMALL, LARGE])
    with pytest.raises(UserError, match=r"cluster e: nodes: .* one node, with 64 GPUs; expected"):
        cluster_of(ClusterConfig("e", {"large": 32}, engine_slots=2), [LARGE])


def test_a_measured_class_draws_its_own_power_where_it_was_measured() -> None:
    (found,) = job_classes_of(
        [SMALL, LARGE],
        {"training": JobClassConfig(priority=2, cores=1.0, workload="w")},
        {"training": MEASURED},
    )
    assert (found.priority, found.image_bytes, found.cold_start_s) == (2, 1000, 1.5)
    # 8 W for one of two cores is 16 W for a node full of it; elsewhere the node's own figures hold.
    assert found.active_w == {"small": [16.0]}
    assert measured_work(MEASURED, SMALL) == (6.0, 10.0)


def test_other_classes_are_what_their_yaml_says() -> None:
    facts = JobClassConfig(
        image_gb=2.0, cold_start_s=3.0, state_gb=0.5,
        rounds=RoundsConfig(map_tasks=5, map_task_s=2.0, distribution="erlang", phases=4),
    )  # fmt: skip
    (found,) = job_classes_of([SMALL], {"jobs": facts}, {})
    assert (found.image_bytes, found.cold_start_s, found.state_bytes) == (2 * 10**9, 3.0, 5 * 10**8)
    assert found.rounds is not None and found.rounds.scv == 0.25
    (plain,) = job_classes_of([SMALL], {"jobs": JobClassConfig()}, {})
    assert plain.rounds is None and plain.state_bytes is None
