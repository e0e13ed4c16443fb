"""The programs of SGX-OmpSs' authors, simulated as task graphs, against their measurements.

Everything that the fitted model of run times (`run_time.py`) knows of a task goes into its
graph: work, calls, encryption, what a first touch costs; the creation of tasks, one after the other
by one thread, is a chain of tasks of its own. What no task has of its own stays the formula's:
memory is as fast as it is for all, and what is done before and after the tasks is added.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgx_ompss.applications import APPLICATIONS
from sgx_ompss.fit import FittedConstants
from sgx_ompss.graphs import cholesky, dot_product, matmul, stream
from sgx_ompss.run_time import CORES
from trimtab.secure_tasks.graphs.builder import BARRIER, successors_of
from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.simulation.machine import EnclaveLimits, EnclaveMachine, WorkerKind
from trimtab.secure_tasks.simulation.simulate import simulate

_ROUNDS = 10
_POLICIES = {"bf": "breadth_first", "wf": "work_first"}
_CREATION = "creation"


def graph_of(application: str, size: int, block: int) -> TaskGraph:
    """Return the graph of an application at the authors' size and block; its times are relative."""
    if application == "cholesky":
        return cholesky(size // block, block, flop_s=1.0)
    if application == "dot_product":
        return dot_product(size // block, block, flop_s=1.0)
    if application == "matmul":
        return matmul(size, block, flop_s=1.0)
    barriers = application == "stream_barr"
    blocks = block if barriers else size * 1024 // block
    return stream(blocks, block, repeats=_ROUNDS, barriers=barriers, byte_s=1.0)


def simulated_s(model: FittedConstants, set_up: "pd.Series[Any]", graph: TaskGraph) -> float:
    """Return the run time of a set-up, a row of `read_measured`, by simulating `graph`.

    `graph` has its application, size and block. Of 8 workers on 4 cores, 4 work at a time, but with
    the contention of 8, as in the formula.
    """
    name, variant, workers = set_up["application"], set_up["variant"], int(set_up["workers"])
    machine, rates = model.machine, model.rates[name]
    load = APPLICATIONS[name](int(set_up["size"]), int(set_up["block"]))
    is_protected, is_encrypted = variant != "ompss", variant == "esgxo"
    operation_s = rates.operation_s
    work_s = 0.0
    if is_protected:
        operation_s = max(operation_s, machine.operation_s)
        work_s += load.first_touches * machine.call_s
        work_s += load.inside_bytes * machine.memory_s_per_byte
    work_s += load.operations * operation_s
    work_s += is_encrypted * load.encrypted_bytes * machine.encryption_s_per_byte
    is_task = graph.kind != graph.kinds.index(BARRIER) if BARRIER in graph.kinds else True
    own_s = graph.work_s * (work_s / graph.work_s.sum())
    own_s = own_s + is_task * (machine.task_s + is_protected * machine.call_s)
    shared_s = is_protected * load.shared_writes * rates.shared_write_s / load.tasks
    mean_s = own_s.sum() / load.tasks
    cores = min(workers, CORES)
    contention = []
    for inside in range(1, cores + 1):
        threads = inside * workers / cores
        others_s = machine.contention_s * (threads - 1)
        others_s += shared_s * (min(threads, load.tasks) - 1)
        contention.append(1 + others_s * inside / mean_s)
    run = simulate(
        with_creation(replace(graph, secure=np.ones(len(graph), np.bool_))),
        EnclaveMachine((WorkerKind("cpu", cores),), EnclaveLimits(contention=tuple(contention))),
        _POLICIES[set_up["policy"]],
        unprotected_s=np.concatenate([np.full(len(graph), machine.create_s), own_s]),
    )
    bus_s = load.memory_bytes * machine.memory_s_per_byte
    return max(run.makespan_s, bus_s) + load.serial_operations * rates.serial_operation_s


def with_creation(graph: TaskGraph) -> TaskGraph:
    """Return the graph with serial creation of its tasks, as by the first thread.

    The first half of its tasks are creations, outside of enclaves, with work 0. The second half are
    the tasks of `graph`, each also waiting for its creation.
    """
    count = len(graph)
    every = np.arange(count)
    sources = np.repeat(every, np.diff(graph.first_successor))
    first, successors = successors_of(
        2 * count,
        np.concatenate([every[:-1], every, sources + count]),
        np.concatenate([every[1:], every + count, graph.successors + count]),
    )

    def both(of_creation: object, of_task: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([np.full(count, of_creation, of_task.dtype), of_task])

    return TaskGraph(
        kinds=(*graph.kinds, _CREATION),
        devices=graph.devices,
        kind=both(len(graph.kinds), graph.kind),
        work_s=both(0.0, graph.work_s),
        bytes_in=both(0, graph.bytes_in),
        bytes_out=both(0, graph.bytes_out),
        working_set_bytes=both(0, graph.working_set_bytes),
        secure=both(False, graph.secure),
        target=both((1 << len(graph.devices)) - 1, graph.target),
        first_successor=first,
        successors=successors,
    )


def simulated_gains_pct(model: FittedConstants, measured: pd.DataFrame) -> pd.DataFrame:
    """Return the simulated change of run time by more workers, in percent of one worker's.

    A row is a protected variant of an application on 2, 4 or 8 workers: application, variant,
    workers, simulated_pct, simulated_s, and modelled_s by the formula. Below 0 is less.
    """
    swept = measured[(measured["swept"] == "threads") & (measured["variant"] != "ompss")]
    rows = []
    for name, of_it in swept.groupby("application", sort=False):
        first = of_it.iloc[0]
        graph = graph_of(str(name), int(first["size"]), int(first["block"]))
        for _, set_up in of_it.iterrows():
            row = {key: set_up[key] for key in ("application", "variant", "workers")}
            rows.append({**row, "simulated_s": simulated_s(model, set_up, graph)})
    table = pd.DataFrame(rows)
    table["modelled_s"] = model.run_times_s(swept)
    alone = table[table["workers"] == 1].set_index(["application", "variant"])["simulated_s"]
    keys = pd.MultiIndex.from_frame(table[["application", "variant"]])
    table["simulated_pct"] = 100 * (table["simulated_s"] / alone.loc[keys].to_numpy() - 1)
    return table[table["workers"] > 1].reset_index(drop=True)
