"""Simulations of a task program's recorded graphs, in enclaves that this machine lacks."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.config.groups.enclave import Enclave
from trimtab.config.groups.protection.protect import Variant
from trimtab.config.stages import ProtectStage
from trimtab.errors import TrimtabError
from trimtab.records.tables import PROTECTED_RUNS
from trimtab.secure_tasks.graphs.builder import BARRIER
from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.graphs.recorded import read_recorded
from trimtab.secure_tasks.protected_graph import inside_s, limits_of
from trimtab.secure_tasks.protection.plan import SetUp
from trimtab.secure_tasks.protection.program import NativeProgram
from trimtab.secure_tasks.simulation.machine import EnclaveLimits, EnclaveMachine, WorkerKind
from trimtab.secure_tasks.simulation.simulate import simulate


def simulated_rows(
    stage: ProtectStage, native: NativeProgram, folder: Path
) -> Iterator[dict[str, Any]]:
    """Yield rows of PROTECTED_RUNS: every size and block, enclave, variant, workers and policy.

    Other sizes and blocks are simulated on one worker and on the most, under the first policy.
    Encrypted variants are left out for enclaves without a cost of encryption. `folder` receives the
    recorded graphs.
    """
    if not stage.enclaves:
        return
    protect = stage.protect
    for size, block in stage.program.set_ups:
        own = (size, block) == (stage.program.size, stage.program.block)
        graph = recorded(stage, native, size, block, folder)
        policies = protect.policies if own else protect.policies[:1]
        most = max(protect.simulated_workers)
        counts = protect.simulated_workers if own else list(dict.fromkeys([1, most]))
        for variant in protect.variants:
            for enclave in _enclaves(stage, variant):
                for workers in counts if variant.has_tasks else [1]:
                    for policy in policies:
                        at = {"size": size, "block": block, "schedule_policy": policy}
                        yield {
                            **_simulated(stage, graph, variant, enclave, workers, policy),
                            **at,
                        }


def recorded(
    stage: ProtectStage, native: NativeProgram, size: int, block: int, folder: Path
) -> TaskGraph:
    """Return the graph of a run of *ompss* on one worker.

    Each task gets the median time of its kind, against outliers by other load. Raises TrimtabError
    where the run fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{size}x{block}.jsonl"
    command = native.command(SetUp(Variant.OMPSS, None, None, 1, size, block), ())
    done = subprocess.run(
        [*command, "--record", path],
        env={**os.environ, "OMP_WAIT_POLICY": "passive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=stage.protect.timeout_s,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise TrimtabError(f"{' '.join(command)}: {said or done.returncode}")
    graph = read_recorded(path)
    path.unlink()
    work_s = graph.work_s.copy()
    for kind, name in enumerate(graph.kinds):
        of_it = graph.kind == kind
        work_s[of_it] = 0.0 if name == BARRIER else np.median(graph.work_s[of_it])
    return replace(graph, work_s=work_s)


def _simulated(
    stage: ProtectStage,
    graph: TaskGraph,
    variant: Variant,
    enclave: Enclave | None,
    workers: int,
    policy: str,
) -> dict[str, Any]:
    cores, limits, costs = stage.hardware.cores, EnclaveLimits(), graph.work_s
    if enclave is None:
        graph = replace(graph, secure=np.zeros(len(graph), np.bool_))
    else:
        encrypted = variant.is_encrypted
        costs = inside_s(graph, enclave, encrypted=encrypted)
        limits = limits_of(graph, enclave, workers, encrypted=encrypted)
    idle_w, busy_w = stage.hardware.idle_w / cores, stage.hardware.busy_w / cores
    machine = EnclaveMachine((WorkerKind("cpu", workers, 1.0, idle_w, busy_w),), limits)
    run = simulate(graph, machine, policy, enclave_s=costs)
    tasks = int(np.count_nonzero(graph.kind != _kind_of_barriers(graph)))
    secure = graph.secure
    name = None if enclave is None else enclave.name
    return {
        **dict.fromkeys(PROTECTED_RUNS.names),
        "task_program": stage.program.name,
        "hardware": stage.hardware.name,
        "variant": str(variant),
        "enclave": name,
        "costs": name,
        "workers": workers,
        "repeat": 0,
        "complete": True,
        "error": "",
        "tasks": tasks,
        "enclave_calls": int(secure.sum()),
        "enclave_bytes": int((graph.bytes_in + graph.bytes_out)[secure].sum()),
        "run_s": run.makespan_s,
        "energy_j": run.energy_j,
        "energy_source": "modelled",
        "source": "modelled",
    }


def _enclaves(stage: ProtectStage, variant: Variant) -> Sequence[Enclave | None]:
    if not variant.is_protected:
        return [None]
    return [
        enclave
        for enclave in stage.enclaves
        if not variant.is_encrypted or enclave.encryption_s_per_byte is not None
    ]


def _kind_of_barriers(graph: TaskGraph) -> int:
    return graph.kinds.index(BARRIER) if BARRIER in graph.kinds else -1
