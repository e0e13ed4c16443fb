"""Small random graphs, machines and costs."""

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from trimtab.secure_tasks.graphs.builder import GraphBuilder
from trimtab.secure_tasks.graphs.graph import TaskGraph
from trimtab.secure_tasks.graphs.order import path_to_end_s
from trimtab.secure_tasks.simulation.machine import EnclaveLimits, EnclaveMachine, WorkerKind

# Sums of these are exact, so that ties are ties in both simulators.
EIGHTHS = st.integers(0, 16).map(lambda number: number / 8)


@st.composite
def graphs(draw: st.DrawFn, devices: tuple[str, ...] = ("cpu", "gpu")) -> TaskGraph:
    builder = GraphBuilder()
    data = st.sets(st.integers(0, 5), max_size=3)
    for _ in range(draw(st.integers(0, 14))):
        if draw(st.integers(0, 9)) == 0:
            builder.barrier()
        builder.add(
            "work",
            draw(EIGHTHS),
            reads=draw(data),
            writes=draw(data),
            bytes_in=draw(st.integers(0, 8)),
            secure=draw(st.booleans()),
            target=draw(st.sets(st.sampled_from(devices), min_size=1)),
        )
    return builder.graph()


@st.composite
def machines(draw: st.DrawFn) -> EnclaveMachine:
    speeds = st.sampled_from((0.5, 1.0, 2.0))
    kinds = tuple(
        WorkerKind(device, draw(st.integers(1, 3)), draw(speeds), 1.0, 3.0)
        for device in ("cpu", "gpu")
    )
    limits = EnclaveLimits(
        draw(st.integers(1, 4)),
        (1.0, *draw(st.lists(st.sampled_from((1.0, 1.25, 1.5)), max_size=3))),
        draw(st.sampled_from((4.0, 8.0, float("inf")))),
        draw(st.sampled_from((0.0, 0.5, 4.0))),
    )
    return EnclaveMachine(kinds, limits)


def predecessors(graph: TaskGraph) -> list[tuple[int, int]]:
    source = np.repeat(np.arange(len(graph)), np.diff(graph.first_successor))
    return list(zip(source.tolist(), graph.successors.tolist(), strict=True))


def critical_path_s(graph: TaskGraph, cost_s: NDArray[np.float64]) -> float:
    """Return the longest sum of `cost_s`, (n,), along dependences; 0 without tasks."""
    paths = path_to_end_s(graph.first_successor, graph.successors, graph.order(), cost_s)
    return float(paths.max(initial=0.0))
