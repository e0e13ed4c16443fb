"""The events of every policy's loop: a task starts, a task ends."""

from trimtab.clusters.compiled import inlined
from trimtab.secure_tasks.simulation.model import NIL, GraphModel, GraphState


@inlined
def may_run(m: GraphModel, s: GraphState, number: int, worker: int) -> bool:
    """Return whether a worker can start a task of class `number` now."""
    if m.class_target[number] & m.device[worker] == 0:
        return False
    return bool(m.class_secure[number] == 0 or s.clock[0].inside < m.limits[0].thread_limit)


@inlined
def paging_factor(m: GraphModel, s: GraphState, task: int) -> float:
    """Return the slowdown by paging of a task that enters the enclave now, 1 or more."""
    inside_bytes = float(s.clock[0].inside_bytes + m.working_set_bytes[task])
    over_bytes = inside_bytes - m.limits[0].page_cache_bytes
    if over_bytes <= 0.0:
        return 1.0
    return float(1.0 + m.limits[0].paging_slowdown * (over_bytes / inside_bytes))


@inlined
def start(m: GraphModel, s: GraphState, task: int, worker: int) -> None:
    """Start a task on an idle worker; its duration is fixed now."""
    clock = s.clock[0]
    duration_s = m.cost_s[task]
    if m.class_secure[m.task_class[task]]:
        duration_s *= m.contention[clock.inside + 1] * paging_factor(m, s, task)
        clock.inside += 1
        clock.inside_bytes += m.working_set_bytes[task]
    duration_s /= m.speed[worker]
    clock.ready -= 1
    s.running[worker] = task
    s.end_s[worker] = clock.now_s + duration_s
    s.busy_s[worker] += duration_s
    if len(s.worker) > 0:
        s.start_s[task] = clock.now_s
        s.finish_s[task] = s.end_s[worker]
        s.worker[task] = worker


@inlined
def next_end(s: GraphState) -> int:
    """Return the worker whose task ends first, the lowest among equals; NIL if none runs."""
    found, end_s = NIL, float("inf")
    for worker in range(len(s.end_s)):
        if s.end_s[worker] < end_s:
            found, end_s = worker, s.end_s[worker]
    return found


@inlined
def finish(m: GraphModel, s: GraphState, worker: int) -> int:
    """Advance to the end of a worker's task and return the task; update its successors' counts."""
    task = s.running[worker]
    clock = s.clock[0]
    clock.now_s = s.end_s[worker]
    s.running[worker] = NIL
    s.end_s[worker] = float("inf")
    if m.class_secure[m.task_class[task]]:
        clock.inside -= 1
        clock.inside_bytes -= m.working_set_bytes[task]
    return int(task)


@inlined
def released(s: GraphState, task: int) -> bool:
    """Record that a task's predecessor has ended; return whether the task is ready."""
    s.waiting[task] -= 1
    return bool(s.waiting[task] == 0)
