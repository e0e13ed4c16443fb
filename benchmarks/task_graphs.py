"""How fast task graphs are simulated, and what their size and the size of tasks' inputs do.

    python benchmarks/task_graphs.py

A blocked Cholesky factorization of 10^6 tasks runs in a model of eight workers under each policy,
compiled beforehand; what compiling takes is measured apart, in a process of its own that finds no
machine code. The sweeps are of modelled times: the enclave is conf/enclave/sgx1.yaml, encryption
included; an operation outside takes a nanosecond.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from common import save, spread
from sgx_ompss.graphs import cholesky, dot_product, matmul, stream

from trimtab.config import Configurations
from trimtab.config.groups.enclave import Enclave, ThreadLimit
from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.protected_graph import inside_s, limits_of
from trimtab.secure_tasks.simulation.machine import EnclaveMachine, WorkerKind
from trimtab.secure_tasks.simulation.simulate import policy_names, simulate

SOURCE = Path(__file__).resolve().parents[1] / "src"
BLOCKS = 181  # 1,004,731 tasks
REPEATS = 3
FLOP_S, BYTE_S = 1e-9, 1e-10
WORKERS = 8
SGX = Configurations(SOURCE.parent / "conf").option("enclave", "sgx1")
FEW_THREADS = replace(SGX, thread_limit=ThreadLimit(3, "three of the workers"))
KINDS = (WorkerKind("cpu", WORKERS, 1.0, 5.0, 15.0),)


def makespan_s(graph: TaskGraph, enclave: Enclave, policy: str) -> float:
    limits = limits_of(graph, enclave, WORKERS, encrypted=True)
    enclave_s = inside_s(graph, enclave, encrypted=True)
    return simulate(graph, EnclaveMachine(KINDS, limits), policy, enclave_s=enclave_s).makespan_s


def half_secure(graph: TaskGraph) -> TaskGraph:
    """The same with the updates (gemm, syrk) outside the enclave."""
    graph.secure[:] = np.isin(graph.kind, [0, 1])
    return graph


def by_policy(graph: TaskGraph, enclave: Enclave = SGX) -> dict[str, float]:
    return {policy: makespan_s(graph, enclave, policy) for policy in policy_names()}


def timed(policy: str, graph: TaskGraph) -> tuple[float, float]:
    """Wall and processor seconds of one simulation."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    makespan_s(graph, SGX, policy)
    return time.perf_counter() - wall_s, time.process_time() - cpu_s


def compile_s() -> dict[str, float]:
    """First less second simulation of a small graph, where no machine code is kept."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        command = [sys.executable, __file__, "--compile"]
        output = subprocess.run(
            command, env=environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    return json.loads(output.splitlines()[-1])


def first_less_second() -> dict[str, float]:
    graph = cholesky(4, 64, flop_s=FLOP_S)
    return {policy: timed(policy, graph)[1] - timed(policy, graph)[1] for policy in policy_names()}


def main() -> None:
    if sys.argv[1:] == ["--compile"]:
        print(json.dumps(first_less_second()))
        return
    compiled = compile_s()
    by_policy(cholesky(4, 64, flop_s=FLOP_S))  # from the cache, or compiled into it
    begun_s, begun_cpu_s = time.perf_counter(), time.process_time()
    large = cholesky(BLOCKS, 64, flop_s=FLOP_S)
    made_s, made_cpu_s = time.perf_counter() - begun_s, time.process_time() - begun_cpu_s
    times = {policy: [timed(policy, large) for _ in range(REPEATS)] for policy in policy_names()}
    save(
        "task_graphs",
        {
            "tasks": len(large),
            "dependences": len(large.successors),
            "workers": WORKERS,
            "bar_s": 10,
            "simulated_wall_s": {
                policy: spread([wall_s for wall_s, _ in rows]) for policy, rows in times.items()
            },
            "simulated_cpu_s": {
                policy: spread([cpu_s for _, cpu_s in rows]) for policy, rows in times.items()
            },
            "compile_cpu_s": compiled,
            "graph_made_wall_s": made_s,
            "graph_made_cpu_s": made_cpu_s,
            "source": "modelled",
            "makespan_s_by_blocks_of_64": {
                blocks: by_policy(cholesky(blocks, 64, flop_s=FLOP_S)) for blocks in (4, 8, 16, 32)
            },
            "makespan_s_by_block_size_of_16_blocks": {
                size: by_policy(cholesky(16, size, flop_s=FLOP_S)) for size in (16, 64, 256, 1024)
            },
            "makespan_s_half_secure_three_threads": {
                blocks: by_policy(half_secure(cholesky(blocks, 256, flop_s=FLOP_S)), FEW_THREADS)
                for blocks in (8, 16, 32)
            },
            "makespan_s_of_others": {
                "matmul": by_policy(matmul(16, 64, flop_s=FLOP_S)),
                "dot_product": by_policy(dot_product(4096, 65536, flop_s=FLOP_S)),
                **{
                    name: by_policy(stream(64, 65536, repeats=10, barriers=barriers, byte_s=BYTE_S))
                    for name, barriers in (("stream", False), ("stream_barriers", True))
                },
            },
        },
    )


if __name__ == "__main__":
    main()
