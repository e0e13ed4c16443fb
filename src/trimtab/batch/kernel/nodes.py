"""Room on nodes: how many parts of a job fit, which GPUs they get, and the search for nodes."""

from typing import Any

from trimtab.batch.kernel.images import start_image
from trimtab.batch.kernel.layout import CPU, GPUS, MEMORY, NIL, WHOLE_GPU, BatchState, index
from trimtab.batch.kernel.power import draw, stop_drawing
from trimtab.batch.kernel.sleeping import note_idle, wake_up
from trimtab.clusters.compiled import inlined, lean


@lean
def fit(row: Any, kind: Any, most: int) -> int:
    """Return how many parts of a kind fit the free resources of a node, up to `most`."""
    if kind.cpu > row[CPU] or kind.memory > row[MEMORY]:
        return 0
    if kind.distinct:
        most = min(most, 1)
    if most > 1:
        most = min(most, row[CPU] // kind.cpu)
        if kind.memory > 0:
            most = min(most, row[MEMORY] // kind.memory)
    if kind.gpu > 0:
        on_gpus = 0
        for at in range(GPUS, len(row)):
            if kind.gpu >= WHOLE_GPU:
                on_gpus += row[index(at)] == WHOLE_GPU
            else:
                on_gpus += row[index(at)] // kind.gpu
        if kind.gpu >= WHOLE_GPU:
            on_gpus //= kind.gpu // WHOLE_GPU
        most = min(most, on_gpus)
    return int(most)


@lean
def choose_gpus(row: Any, kind: Any, parts: int) -> int:
    """Return GPUs for parts of a kind that fit, as bits.

    Whole GPUs are the first free ones. A share of a GPU is of one part, on the GPU with the least
    room for it.
    """
    chosen = 0
    if kind.gpu >= WHOLE_GPU:
        needed = parts * (kind.gpu // WHOLE_GPU)
        for at in range(GPUS, len(row)):
            if needed > 0 and row[at] == WHOLE_GPU:
                chosen |= 1 << (at - GPUS)
                needed -= 1
    elif kind.gpu > 0:
        least = WHOLE_GPU + 1
        for at in range(GPUS, len(row)):
            if kind.gpu <= row[at] < least:
                least, chosen = row[at], 1 << (at - GPUS)
    return chosen


@lean
def change(row: Any, kind: Any, parts: int, gpus: int, sign: int) -> None:
    """Take (`sign` -1) or give back (1) the resources of parts on a node."""
    row[CPU] += sign * parts * kind.cpu
    row[MEMORY] += sign * parts * kind.memory
    if kind.gpu > 0:
        of_gpu = min(kind.gpu, WHOLE_GPU)
        for at in range(GPUS, len(row)):
            if (gpus >> (at - GPUS)) & 1:
                row[at] += sign * of_gpu


@lean
def shared_row(s: BatchState, node: int, row: Any) -> None:
    """Write into `row` what a node has free now and at the shadow time."""
    for at in range(len(row)):
        row[at] = min(s.free[node, at], s.later[node, at])


@lean
def note_change(s: BatchState, node: int) -> None:
    """Note that a node's room may have grown."""
    if not s.nodes[node].changed:
        s.nodes[node].changed = 1
        s.changed[s.clock[0].changed] = node
        s.clock[0].changed += 1


@lean
def begin_sweep(s: BatchState) -> None:
    """Find what changed nodes have free at most."""
    clock = s.clock[0]
    clock.most_cpu = clock.most_memory = clock.most_gpu = 0
    for at in range(clock.changed):
        row = s.free[s.changed[at]]
        clock.most_cpu = max(clock.most_cpu, row[CPU])
        clock.most_memory = max(clock.most_memory, row[MEMORY])
        free_gpu = 0
        for gpu in range(GPUS, len(row)):
            free_gpu += row[gpu]
        clock.most_gpu = max(clock.most_gpu, free_gpu)


@lean
def end_sweep(s: BatchState) -> None:
    """Note that all waiting jobs have been tried."""
    clock = s.clock[0]
    for at in range(clock.changed):
        s.nodes[s.changed[at]].changed = 0
    clock.changed = 0
    for number in range(len(s.types)):
        s.types[number].swept = s.types[number].version


@inlined
def _search_changed(s: BatchState, of_type: Any, kind: Any, row: Any, keeps: bool) -> int:
    """Choose the first node for a part that had no room at the last sweep; return 1, or 0."""
    first, end = NIL, of_type.first_node + of_type.nodes
    for at in range(s.clock[0].changed):
        node = s.changed[at]
        if not of_type.first_node <= node < end or (first != NIL and node > first):
            continue
        if keeps:
            shared_row(s, node, row)
            fitting = fit(row, kind, 1)
        else:
            fitting = fit(s.free[index(node)], kind, 1)
        if fitting == 1:
            first = node
    s.chosen[0, 0], s.chosen[0, 1] = first, 1
    return int(first != NIL)


@lean
def _search_all(s: BatchState, of_type: Any, kind: Any, parts: int, row: Any, keeps: bool) -> int:
    end = of_type.first_node + of_type.nodes
    while of_type.lowest < end and s.free[of_type.lowest, CPU] == 0:
        of_type.lowest += 1
    count, left = 0, parts
    for node in range(of_type.lowest, end):
        if (
            kind.cpu > s.free[index(node), index(CPU)]
            or kind.memory > s.free[index(node), index(MEMORY)]
        ):
            continue
        if keeps:
            shared_row(s, node, row)
            fitting = fit(row, kind, left)
        else:
            fitting = fit(s.free[index(node)], kind, left)
        if fitting > 0:
            s.chosen[count, 0], s.chosen[count, 1] = node, fitting
            count += 1
            left -= fitting
            if left == 0:
                return count
    return 0


@inlined
def search(s: BatchState, number: int, kind: int, parts: int, row: Any, keeps: bool) -> int:
    """Choose nodes of a type for parts of a kind; return how many nodes, 0 without room.

    `keeps`: they leave the reservation alone (`later`); `row` is scratch space. The nodes are in
    `chosen`.
    """
    of_type, of_kind = s.types[index(number)], s.kinds[index(kind)]
    if (
        parts * of_kind.cpu > of_type.cpu
        or parts * of_kind.memory > of_type.memory
        or parts * of_kind.gpu > of_type.gpu
    ):
        return 0
    site = s.sites[index(kind), index(number)]
    failed_at, failed_parts = site.failed_at, site.failed_parts
    if keeps:
        failed_at, failed_parts = site.kept_out_at, site.kept_out_parts
    if parts == 1 and failed_parts == 1 and failed_at >= of_type.swept:
        return int(_search_changed(s, of_type, of_kind, row, keeps))
    return int(_search_all(s, of_type, of_kind, parts, row, keeps))


@lean
def _occupy(s: BatchState, job: Any, number: int, of_type: Any, parts: int) -> float:
    """Put parts on a node; return how long it takes until they start."""
    node, wake_s = s.nodes[number], 0.0
    if node.parts == 0:
        wake_s = wake_up(s, number, of_type)
    node.parts += parts
    return float(start_image(s, job, number, wake_s))


@lean
def _leave(s: BatchState, number: int, of_type: Any, parts: int) -> None:
    """Take parts off a node."""
    node = s.nodes[number]
    node.parts -= parts
    if node.parts == 0:
        note_idle(s, number, of_type)


@lean
def allocate(s: BatchState, slot: int, number: int, count: int, row: Any, keeps: bool) -> None:
    """Give a job the `count` chosen nodes of a type.

    `keeps`: its parts are still there at the shadow time.
    """
    job, of_type = s.jobs[slot], s.types[number]
    kind = s.kinds[job.kind]
    job.first, job.nodes, job.waking_s = NIL, count, 0.0
    job.startup_s, job.pulls = 0.0, 0
    for at in range(count):
        node, left = s.chosen[at, 0], s.chosen[at, 1]
        job.waking_s = max(job.waking_s, _occupy(s, job, node, of_type, left))
        together = 1 if 0 < kind.gpu < WHOLE_GPU else left
        while left > 0:
            if keeps:
                shared_row(s, node, row)
                gpus = choose_gpus(row, kind, together)
                change(s.later[node], kind, together, gpus, -1)
            else:
                gpus = choose_gpus(s.free[node], kind, together)
            change(s.free[node], kind, together, gpus, -1)
            entry = s.clock[0].free
            allocation = s.allocations[entry]
            s.clock[0].free = allocation.next
            s.clock[0].space -= 1
            allocation.node, allocation.parts, allocation.gpus = node, together, gpus
            allocation.next = job.first
            job.first = entry
            left -= together
    of_type.cpu -= job.parts * kind.cpu
    of_type.memory -= job.parts * kind.memory
    of_type.gpu -= job.parts * kind.gpu
    draw(s, job, number)


@lean
def release(s: BatchState, slot: int) -> None:
    """Free the nodes of a job."""
    job = s.jobs[slot]
    kind, of_type = s.kinds[job.kind], s.types[job.type]
    entry = job.first
    while entry != NIL:
        allocation = s.allocations[entry]
        change(s.free[allocation.node], kind, allocation.parts, allocation.gpus, 1)
        of_type.lowest = min(of_type.lowest, allocation.node)
        _leave(s, allocation.node, of_type, allocation.parts)
        note_change(s, allocation.node)
        following = allocation.next
        if not s.clock[0].keeps:
            allocation.next = s.clock[0].free
            s.clock[0].free = entry
            s.clock[0].space += 1
        entry = following
    of_type.cpu += job.parts * kind.cpu
    of_type.memory += job.parts * kind.memory
    of_type.gpu += job.parts * kind.gpu
    of_type.version += 1
    stop_drawing(s, job)
