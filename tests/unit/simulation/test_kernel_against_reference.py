"""The kernel does what the plain simulator does, event by event, on systems of every kind."""

import math

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from small_systems import System, crowds, single_servers, systems

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType
from trimtab.policies.heats.policy import Heats
from trimtab.simulation.arrivals import Arrivals
from trimtab.simulation.batches import SimulationRequest
from trimtab.simulation.kernel.driver import KernelSimulator
from trimtab.simulation.reference.simulator import ReferenceSimulator
from trimtab.simulation.resampling import service_times_of


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(systems(), st.integers(1, 16))
def test_every_event_is_the_same(system: System, size: int) -> None:
    _check_same(system, size)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(crowds(), st.integers(5, 60))
def test_every_event_is_the_same_where_many_wait(system: System, size: int) -> None:
    _check_same(system, size)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(single_servers(), st.integers(1, 30))
def test_every_event_is_the_same_at_one_server(system: System, size: int) -> None:
    _check_same(system, size, allocations=False)


def test_the_power_of_a_paused_migration_stops_at_its_own_node() -> None:
    types = (
        NodeType("a", 1000, 8, 5.0, (Level(1.0, 40.0),), network_bytes_per_s=4.0),
        NodeType("b", 1000, 8, 5.0, (Level(1.0, 20.0),), network_bytes_per_s=4.0),
    )
    # Both nodes of type b are free: the job goes to the first of them, which is not the last node.
    trace = pd.DataFrame(
        {
            "job": [0, 1, 2],
            "arrival_s": [0.0, 0.0, 0.0],
            "job_class": "stateful",
            "priority": 0,
            "cpu_milli": 1000,
            "gpu_milli": 0,
            "memory_bytes": 1,
            "work_s": [1.0, 1.0, 30.0],
        }
    )
    run_time_s, energy_j = (np.reshape(table, (1, 2, 1)) for table in ([1.0, 1.0], [9.0, 1.0]))
    policy = Heats(run_time_s, energy_j, [1, 1], energy_weight=1.0, tick_s=5.0)
    classes = (JobClass("stateful", state_bytes=4),)
    system = System(Cluster(types, (1, 2)), classes, trace, policy)
    rows = _check_same(system, 3)
    assert rows["migrations"].tolist() == [0, 0, 1]


def _check_same(system: System, size: int, allocations: bool = True) -> NDArray[np.void]:
    """Check that both engines do the same with a system; return its finished jobs."""
    demand = SimulationRequest(1.5, allocations, math.inf, None)
    checked = Arrivals(system.cluster, system.job_classes, {}, 0)
    times = service_times_of([checked.chunk(system.trace)], checked.shapes, len(system.job_classes))
    results = []
    for engine_type in (ReferenceSimulator, KernelSimulator):
        arrivals = Arrivals(system.cluster, system.job_classes, {}, 0, service_times=times)
        engine = engine_type(arrivals, system.policy, demand)
        chunks = [system.trace[at : at + size] for at in range(0, len(system.trace), size)]
        batches = [(batch.rows, batch.allocations, batch.load) for batch in engine.run(chunks)]
        rows, stays = (np.concatenate([batch[part] for batch in batches]) for part in (0, 1))
        results.append((rows, stays, [row for batch in batches for row in batch[2]], engine.end()))
    (rows, stays, load, end), (rows_2, stays_2, load_2, end_2) = results
    for name in stays.dtype.names if allocations else ():
        np.testing.assert_array_equal(stays[name], stays_2[name], name)
    for name in rows.dtype.names:
        if name == "energy_j":
            np.testing.assert_allclose(rows[name], rows_2[name], rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(rows[name], rows_2[name], name)
    np.testing.assert_allclose(load, load_2, rtol=1e-9, atol=1e-9)
    assert (end.end_s, end.unfinished, end.events) == (end_2.end_s, end_2.unfinished, end_2.events)
    for name in ("busy_core_s", "down_s", "active_energy_j", "free_gpu_s", "fragmented_gpu_s"):
        np.testing.assert_allclose(getattr(end, name), getattr(end_2, name), rtol=1e-9, atol=1e-9)
    if end.unfinished == 0:
        np.testing.assert_allclose(rows["energy_j"].sum(), end.active_energy_j.sum(), rtol=1e-9)
    return rows
