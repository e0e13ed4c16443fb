"""The run time of an application of many tasks, from its load and a machine's constants."""

from dataclasses import astuple, dataclass, fields

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgx_ompss.applications import APPLICATIONS, ApplicationLoad

CORES = 4  # of the authors' Intel E3-1275 (section 8.3.1)
Array = NDArray[np.float64]


@dataclass(frozen=True)
class MachineConstants:
    """The constants that all applications share, each in seconds.

    `create_s` is the time to create a task, by one thread; `task_s` the overhead of the worker that
    runs it; `contention_s` the overall time per task and worker beyond the first; `call_s` the time
    of a call into the enclave. `operation_s` is the least time of an operation in the enclave, as
    the authors built it. The last two are per byte.
    """

    create_s: float
    task_s: float
    contention_s: float
    call_s: float
    operation_s: float
    encryption_s_per_byte: float
    memory_s_per_byte: float


@dataclass(frozen=True)
class Rates:
    """The constants of one application, in seconds.

    `operation_s` is of an operation outside an enclave, `serial_operation_s` of one before or after
    the tasks. `shared_write_s` is of a write in the enclave to a cache line that other workers
    write to, for each of these workers.
    """

    operation_s: float
    serial_operation_s: float = 0.0
    shared_write_s: float = 0.0


@dataclass(frozen=True)
class SetUps:
    """Set-ups as columns: each one's load (`load`, arrays of one value per set-up), and variant."""

    load: dict[str, Array]
    application: list[str]
    protected: NDArray[np.bool_]
    encrypted: NDArray[np.bool_]
    workers: Array


def set_ups_of(table: pd.DataFrame) -> SetUps:
    """Return the set-ups of the columns application, variant, size, block and workers."""
    of_row = zip(table["application"], table["size"], table["block"], strict=True)
    loads = [APPLICATIONS[name](int(size), int(block)) for name, size, block in of_row]
    columns = np.array([astuple(load) for load in loads], dtype=float).T
    names = [field.name for field in fields(ApplicationLoad)]
    return SetUps(
        load=dict(zip(names, columns, strict=True)),
        application=list(table["application"]),
        protected=(table["variant"] != "ompss").to_numpy(),
        encrypted=(table["variant"] == "esgxo").to_numpy(),
        workers=table["workers"].to_numpy(dtype=float),
    )


def run_times_s(set_ups: SetUps, machine: MachineConstants, rates: dict[str, Rates]) -> Array:
    """Return the modelled run time of each set-up, in seconds.

    The tasks' work and overhead take Graham's bound for the number of cores. They take at least the
    time to create all tasks, and at least the time to move their data. Contention grows with the
    workers. The enclave's code replaces the code outside: an operation takes the longer of both
    times. The first touch of a page costs a call, as the kernel has to provide it. The authors'
    data lie outside the enclave, so its page cache has no faults.
    """
    load, protected = set_ups.load, set_ups.protected
    outside_s, serial_s, shared_s = (
        np.array([getattr(rates[name], key) for name in set_ups.application])
        for key in ("operation_s", "serial_operation_s", "shared_write_s")
    )
    operation_s = np.where(protected, np.maximum(outside_s, machine.operation_s), outside_s)
    running_s = (
        load["operations"] * operation_s
        + set_ups.encrypted * load["encrypted_bytes"] * machine.encryption_s_per_byte
        + load["tasks"] * machine.task_s
        + protected * (load["tasks"] + load["first_touches"]) * machine.call_s
        + protected * load["inside_bytes"] * machine.memory_s_per_byte
    )
    creating_s = load["tasks"] * machine.create_s
    span_s = running_s * load["span_share"]
    shared_out_s = span_s + (running_s + creating_s - span_s) / np.minimum(set_ups.workers, CORES)
    parallel_s = np.maximum.reduce(
        [creating_s, shared_out_s, load["memory_bytes"] * machine.memory_s_per_byte]
    )
    others = set_ups.workers - 1
    writers = np.minimum(set_ups.workers, load["tasks"]) - 1
    contention_s = (
        load["tasks"] * machine.contention_s * others
        + protected * load["shared_writes"] * shared_s * writers
    )
    times_s: Array = parallel_s + contention_s + load["serial_operations"] * serial_s
    return times_s
