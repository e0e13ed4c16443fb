"""The authors' programs as graphs: the formula's times on one worker, and what they gain."""

import numpy as np
import pandas as pd
import pytest
from sgx_ompss.check import PUBLISHED_GAINS
from sgx_ompss.fit import FittedConstants, fit
from sgx_ompss.graphs import cholesky
from sgx_ompss.measured import read_measured
from sgx_ompss.simulated import (
    graph_of,
    simulated_gains_pct,
    simulated_s,
    with_creation,
)

from trimtab.secure_tasks.simulation.machine import EnclaveMachine, WorkerKind
from trimtab.secure_tasks.simulation.simulate import simulate


@pytest.fixture(scope="module")
def measured() -> pd.DataFrame:
    return read_measured()


@pytest.fixture(scope="module")
def model(measured: pd.DataFrame) -> FittedConstants:
    return fit(measured)


def test_on_one_worker_a_simulated_graph_takes_what_the_formula_says(
    model: FittedConstants, measured: pd.DataFrame
) -> None:
    """There it has no bound to be loose: all tasks and creations, one after the other."""
    alone = measured[(measured["swept"] == "threads") & (measured["workers"] == 1)]
    some = alone[alone["application"] != "stream_deps"]  # whose graph is 168,000 tasks
    formula_s = model.run_times_s(some)
    for (_, set_up), expected_s in zip(some.iterrows(), formula_s, strict=True):
        graph = graph_of(set_up["application"], set_up["size"], set_up["block"])
        # Of matrix multiplication the last creations are no longer than a task.
        assert simulated_s(model, set_up, graph) == pytest.approx(expected_s, rel=0.03)


def test_simulated_gains_are_within_ten_points_of_the_published(
    model: FittedConstants, measured: pd.DataFrame
) -> None:
    gains = simulated_gains_pct(model, measured[measured["application"] != "stream_deps"])
    of = gains.set_index(["application", "variant", "workers"])["simulated_pct"]
    for gain in PUBLISHED_GAINS:
        for variant in ("sgxo", "esgxo"):
            told = of[gain.application, variant, gain.workers]
            assert told == pytest.approx(gain.published_pct, abs=10), (gain, variant)
    for variant in ("sgxo", "esgxo"):
        assert of["dot_product", variant].idxmin() == 2


def test_a_task_starts_after_its_creation_and_creations_are_one_after_the_other() -> None:
    graph = cholesky(4, 8, flop_s=1.0)
    count, create_s = len(graph), 1e4
    costs_s = np.concatenate([np.full(count, create_s), graph.work_s])
    created = with_creation(graph)
    machine = EnclaveMachine((WorkerKind("cpu", 3),))
    run = simulate(
        created, machine, "breadth_first", unprotected_s=costs_s, enclave_s=costs_s, keep_tasks=True
    )
    assert run.tasks is not None
    ends, starts = run.tasks["end_s"].to_numpy(), run.tasks["start_s"].to_numpy()
    assert np.all(starts[1:count] >= ends[: count - 1])
    assert np.all(starts[count:] >= ends[:count])
    # Creation is longer than any task, so that it is all that the run waits for, but the last task.
    assert run.makespan_s == pytest.approx(count * create_s + graph.work_s[-1])
    sources = np.repeat(np.arange(count), np.diff(graph.first_successor))
    assert np.all(starts[count + graph.successors] >= ends[count + sources])
