"""Simulates a task graph on a machine under a policy: run time and energy."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from trimtab.errors import UserError
from trimtab.plugins import choose, module_names
from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.simulation import policies
from trimtab.secure_tasks.simulation.machine import EnclaveMachine
from trimtab.secure_tasks.simulation.model import build_model, build_state


@dataclass(frozen=True)
class SimulatedRun:
    """The result of a simulated graph; all values are modelled.

    `busy_s` is by worker; `energy_j` sums busy and idle power up to the makespan. `tasks`, if
    requested, has one row per task: `start_s`, `end_s` since the start, and `worker`.
    """

    makespan_s: float
    busy_s: NDArray[np.float64]
    energy_j: float
    tasks: pd.DataFrame | None


def simulate(
    graph: TaskGraph,
    machine: EnclaveMachine,
    policy: str,
    *,
    unprotected_s: ArrayLike | None = None,
    enclave_s: ArrayLike | None = None,
    keep_tasks: bool = False,
) -> SimulatedRun:
    """Run `graph` in a model of `machine` under the policy of that name.

    Arrays (n,), by task: `unprotected_s`, seconds outside an enclave on a worker of speed 1
    (default: `work_s`), and `enclave_s`, seconds alone inside one without paging (default: as
    outside). Raises UserError for an unknown policy, invalid costs, and tasks that no worker may
    run.
    """
    outside_s = _checked("unprotected_s", graph, graph.work_s, unprotected_s)
    inside_s = _checked("enclave_s", graph, outside_s, enclave_s)
    module = choose(policies.__name__, policies.__path__, "policy", policy, lambda each: each)
    model = build_model(graph, machine, outside_s, inside_s)
    state = build_state(graph, machine.count, keep_tasks)
    module.run(model, state, module.build(model))
    makespan_s = float(state.clock["now_s"][0])
    idle_w, busy_w = machine.per_worker("idle_w"), machine.per_worker("busy_w")
    busy_s = state.busy_s
    energy_j = float(np.sum(busy_w * busy_s + idle_w * np.maximum(makespan_s - busy_s, 0.0)))
    tasks = None
    if keep_tasks:
        columns = {"start_s": state.start_s, "end_s": state.finish_s, "worker": state.worker}
        tasks = pd.DataFrame(columns)
    return SimulatedRun(makespan_s, busy_s, energy_j, tasks)


def policy_names() -> list[str]:
    """Return the names of the policies: modules of the package `policies`."""
    return module_names(policies.__path__)


def _checked(
    name: str, graph: TaskGraph, otherwise: NDArray[np.float64], given: ArrayLike | None
) -> NDArray[np.float64]:
    if given is None:
        return otherwise
    costs = np.ascontiguousarray(given, np.float64)
    if costs.shape != (len(graph),):
        raise UserError(f"{name}: shape {costs.shape}, expected one for each of {len(graph)} tasks")
    wrong = np.flatnonzero(~((costs >= 0) & np.isfinite(costs)))
    if wrong.size:
        raise UserError(f"{name}: task {wrong[0]}: {costs[wrong[0]]:g}, expected 0 s or more")
    return costs
