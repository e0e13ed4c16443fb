"""Exact integrals of power over time; power is constant between events.

A node's active power is f(u) times the sum of its tasks' core power, plus its GPUs' power. Here u
is the share of its active cores and f(u) = load curve / u. All tasks of the node share f, so its
integral over time, kept with the node, gives each task's energy at its end.
"""

from typing import Any

from trimtab.clusters.compiled import inlined
from trimtab.policies.layout import INFINITY, KernelModel, KernelState, index


@inlined
def _load_factor(m: KernelModel, node: Any) -> float:
    if m.kinds[index(node.type)].linear or node.drawing_cpu == 0:
        return 1.0
    load = node.drawing_cpu / node.cpu
    below = min(int(load * 10.0), 9)
    low, high = m.load_curve[node.type, below], m.load_curve[node.type, below + 1]
    return float((low + (high - low) * (load * 10.0 - below)) / load)


@inlined
def _integrate(node: Any, now_s: float) -> None:
    elapsed = now_s - node.at_s
    node.at_s = now_s
    node.factor_s += elapsed * node.factor
    node.active_j += elapsed * (node.factor * node.watts + node.gpu_watts)


@inlined
def _draw(m: KernelModel, node: Any, shape: Any, level: int, now_s: float) -> tuple[float, float]:
    """Start a task's power draw; return its watts, and its GPUs' watts."""
    pace = m.paces[index(shape.job_class), index(node.type), index(level)]
    watts = shape.cpu / node.cpu * pace.watts
    gpu_watts = shape.gpu * 1e-3 * pace.gpu_watts
    _integrate(node, now_s)
    node.drawing += 1
    node.drawing_cpu += shape.cpu
    node.watts += watts
    node.gpu_watts += gpu_watts
    node.factor = _load_factor(m, node)
    return watts, gpu_watts


@inlined
def _stop(
    m: KernelModel, node: Any, shape: Any, watts: float, gpu_watts: float, now_s: float
) -> None:
    """End a task's power draw."""
    _integrate(node, now_s)
    node.drawing -= 1
    node.drawing_cpu -= shape.cpu
    if node.drawing > 0:
        node.watts -= watts
        node.gpu_watts -= gpu_watts
    else:  # removes rounding errors
        node.watts = node.gpu_watts = 0.0
    node.factor = _load_factor(m, node)


@inlined
def draw_here(m: KernelModel, s: KernelState, job: Any, shape: Any) -> None:
    """Start a job's power draw at its place."""
    node, now_s = s.nodes[index(job.node)], s.clock[0].now_s
    job.drawing_w, job.drawing_gpu_w = _draw(m, node, shape, job.level, now_s)
    job.drawing_since_s, job.drawing_from = now_s, node.factor_s


@inlined
def stop_here(m: KernelModel, s: KernelState, job: Any, shape: Any) -> None:
    """End that power draw, if any, and add the energy to the job's."""
    if job.drawing_since_s < INFINITY:
        node, now_s = s.nodes[index(job.node)], s.clock[0].now_s
        _stop(m, node, shape, job.drawing_w, job.drawing_gpu_w, now_s)
        job.energy_j += job.drawing_w * (node.factor_s - job.drawing_from)
        job.energy_j += job.drawing_gpu_w * (now_s - job.drawing_since_s)
        job.drawing_since_s = INFINITY


@inlined
def draw_there(m: KernelModel, s: KernelState, job: Any, shape: Any) -> None:
    """Start a job's power draw at the place that it moves to."""
    node, now_s = s.nodes[index(job.there)], s.clock[0].now_s
    job.there_w, job.there_gpu_w = _draw(m, node, shape, job.there_level, now_s)
    job.there_drawing_since_s, job.there_drawing_from = now_s, node.factor_s


@inlined
def stop_there(m: KernelModel, s: KernelState, job: Any, shape: Any) -> None:
    """End that power draw, if any, and add the energy to the job's."""
    if job.there_drawing_since_s < INFINITY:
        node, now_s = s.nodes[index(job.there)], s.clock[0].now_s
        _stop(m, node, shape, job.there_w, job.there_gpu_w, now_s)
        job.energy_j += job.there_w * (node.factor_s - job.there_drawing_from)
        job.energy_j += job.there_gpu_w * (now_s - job.there_drawing_since_s)
        job.there_drawing_since_s = INFINITY
