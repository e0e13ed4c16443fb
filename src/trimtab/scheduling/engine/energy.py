"""Power integrated over time, exactly, as it is constant between events.

A node's active power is f(u) times the sum of what its tasks' cores draw, plus its GPUs, where u
is the share of its cores that draw and f(u) = load curve / u. As f is common to all tasks of the
node, its integral over time, kept with the node, gives each task's energy when that one ends.
"""

from typing import Any

from trimtab.scheduling.engine.compiled import inlined
from trimtab.scheduling.engine.layout import Model, State, never


@inlined
def _load_factor(m: Model, node: Any) -> float:
    if m.kinds[node.type].linear or node.drawing_cpu == 0:
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
def draw(m: Model, s: State, number: int, shape: Any, level: int) -> tuple[float, float, float]:
    """Have a task draw power from now on; return its watts, its GPUs', and the node's integral."""
    node = s.nodes[number]
    watts = shape.cpu / node.cpu * m.paces[shape.job_class, node.type, level].watts
    gpu_watts = shape.gpu * 1e-3 * m.paces[shape.job_class, node.type, level].gpu_watts
    _integrate(node, s.clock[0].now_s)
    node.drawing += 1
    node.drawing_cpu += shape.cpu
    node.watts += watts
    node.gpu_watts += gpu_watts
    node.factor = _load_factor(m, node)
    return watts, gpu_watts, node.factor_s


@inlined
def stop_drawing(
    m: Model,
    s: State,
    number: int,
    shape: Any,
    watts: float,
    gpu_watts: float,
    since_s: float,
    since_factor_s: float,
) -> float:
    """Have a task draw no more; return the joules that it drew since it began to."""
    node = s.nodes[number]
    now_s = s.clock[0].now_s
    _integrate(node, now_s)
    node.drawing -= 1
    node.drawing_cpu -= shape.cpu
    if node.drawing > 0:
        node.watts -= watts
        node.gpu_watts -= gpu_watts
    else:  # nothing of the rounding errors stays
        node.watts = node.gpu_watts = 0.0
    node.factor = _load_factor(m, node)
    return float(watts * (node.factor_s - since_factor_s) + gpu_watts * (now_s - since_s))


@inlined
def draw_here(m: Model, s: State, slot: int) -> None:
    """Have a job draw power where it is."""
    job = s.jobs[slot]
    watts, gpu_watts, from_s = draw(m, s, job.node, s.shapes[job.shape], job.level)
    job.drawing_w, job.drawing_gpu_w, job.drawing_from = watts, gpu_watts, from_s
    job.drawing_since_s = s.clock[0].now_s


@inlined
def stop_here(m: Model, s: State, slot: int) -> None:
    """End that, if it was so, and add the energy to the job's."""
    job = s.jobs[slot]
    if job.drawing_since_s < never:
        job.energy_j += stop_drawing(
            m,
            s,
            job.node,
            s.shapes[job.shape],
            job.drawing_w,
            job.drawing_gpu_w,
            job.drawing_since_s,
            job.drawing_from,
        )
        job.drawing_since_s = never


@inlined
def draw_there(m: Model, s: State, slot: int) -> None:
    """Have a job draw power at the place that it moves to."""
    job = s.jobs[slot]
    watts, gpu_watts, from_s = draw(m, s, job.there, s.shapes[job.shape], job.there_level)
    job.there_w, job.there_gpu_w, job.there_drawing_from = watts, gpu_watts, from_s
    job.there_drawing_since_s = s.clock[0].now_s


@inlined
def stop_there(m: Model, s: State, slot: int) -> None:
    """End that, if it was so, and add the energy to the job's."""
    job = s.jobs[slot]
    if job.there_drawing_since_s < never:
        job.energy_j += stop_drawing(
            m,
            s,
            job.there,
            s.shapes[job.shape],
            job.there_w,
            job.there_gpu_w,
            job.there_drawing_since_s,
            job.there_drawing_from,
        )
        job.there_drawing_since_s = never
