"""The kernel does what the plain simulator does, event by event, on systems of every kind."""

import math

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_systems import System, systems

from trimtab.scheduling.engine.arrivals import Arrivals
from trimtab.scheduling.engine.batches import Demand
from trimtab.scheduling.engine.driver import KernelEngine
from trimtab.scheduling.engine.reference import ReferenceEngine


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(systems(), st.integers(1, 16))
def test_every_event_is_the_same(system: System, size: int) -> None:
    demand = Demand(1.5, True, math.inf, None)
    results = []
    for engine_type in (ReferenceEngine, KernelEngine):
        arrivals = Arrivals(system.cluster, system.job_classes, {}, 0)
        engine = engine_type(arrivals, system.policy, demand)
        chunks = [system.trace[at : at + size] for at in range(0, len(system.trace), size)]
        # The arrays are the engine's own until it goes on.
        batches = [
            (batch.rows.copy(), batch.stays.copy(), batch.load) for batch in engine.run(chunks)
        ]
        rows, stays = (np.concatenate([batch[part] for batch in batches]) for part in (0, 1))
        results.append((rows, stays, [row for batch in batches for row in batch[2]], engine.end()))
    (rows, stays, load, end), (rows_2, stays_2, load_2, end_2) = results
    for name in stays.dtype.names:
        np.testing.assert_array_equal(stays[name], stays_2[name], name)
    for name in rows.dtype.names:
        if name == "energy_j":
            np.testing.assert_allclose(rows[name], rows_2[name], rtol=1e-9, atol=1e-9)
        else:
            np.testing.assert_array_equal(rows[name], rows_2[name], name)
    np.testing.assert_allclose(load, load_2, rtol=1e-9, atol=1e-9)
    assert (end.end_s, end.unfinished, end.events) == (end_2.end_s, end_2.unfinished, end_2.events)
    for name in ("busy_core_s", "down_s", "active_energy_j"):
        np.testing.assert_allclose(getattr(end, name), getattr(end_2, name), rtol=1e-9, atol=1e-9)
    if end.unfinished == 0:
        np.testing.assert_allclose(rows["energy_j"].sum(), end.active_energy_j.sum(), rtol=1e-9)
