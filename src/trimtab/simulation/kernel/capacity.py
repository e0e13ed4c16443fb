"""Free resources of nodes, and the search for the first node with room.

Each node type has a binary tree over its nodes. An entry has the largest free CPU, GPU and memory
of the nodes below, so a search skips full nodes.
"""

from typing import Any

from trimtab.clusters.compiled import inlined, lean
from trimtab.policies.layout import ANY, NIL, WITH, WITHOUT, KernelModel, KernelState, index
from trimtab.simulation.kernel.gpus import give_back_gpus, take_gpus
from trimtab.simulation.kernel.queues import fits


@inlined
def refresh(m: KernelModel, s: KernelState, number: int) -> None:
    """Update the search tree with a node's free resources; none, if it is down."""
    node = s.nodes[index(number)]
    kind = node.type
    facts = m.kinds[index(kind)]
    begin, at = facts.tree, facts.leaves + number - facts.first_node
    free = s.tree[index(begin + at)]
    if node.up:
        free.cpu, free.gpu, free.memory = node.free_cpu, node.largest_gpu, node.free_memory
    else:
        free.cpu = free.gpu = free.memory = -1
    at >>= 1
    while at > 0:
        left, right = s.tree[index(begin + 2 * at)], s.tree[index(begin + 2 * at + 1)]
        cpu, gpu = max(left.cpu, right.cpu), max(left.gpu, right.gpu)
        memory = max(left.memory, right.memory)
        free = s.tree[index(begin + at)]
        if free.cpu == cpu and free.gpu == gpu and free.memory == memory:
            break
        free.cpu, free.gpu, free.memory = cpu, gpu, memory
        at >>= 1


@inlined
def take(m: KernelModel, s: KernelState, number: int, shape: Any) -> int:
    """Reserve the request of a job of `shape` on a node; return its GPUs as bits."""
    node = s.nodes[index(number)]
    node.free_cpu -= shape.cpu
    node.free_memory -= shape.memory
    gpus = take_gpus(m, s, number, shape.gpu) if shape.gpu > 0 else 0
    refresh(m, s, number)
    return gpus


@inlined
def make_available(s: KernelState, number: int) -> None:
    """Have waiting jobs tried on a node that has got room."""
    clock, node = s.clock[0], s.nodes[index(number)]
    if clock.pending > 0 and not node.freed:
        node.freed = 1
        s.freed[index(clock.freed)] = number
        clock.freed += 1
        clock.changed = 1


@inlined
def give_back(
    m: KernelModel, s: KernelState, number: int, shape: Any, gpus: int, since_s: float
) -> None:
    """Free the resources and `gpus`, as bits, that a job of `shape` held on a node."""
    node = s.nodes[index(number)]
    node.free_cpu += shape.cpu
    node.free_memory += shape.memory
    if shape.gpu > 0:
        give_back_gpus(m, s, number, gpus, shape.gpu)
    node.busy_core_s += shape.cpu * 1e-3 * (s.clock[0].now_s - since_s)
    if node.up:
        refresh(m, s, number)
        make_available(s, number)


@inlined
def search(
    m: KernelModel, s: KernelState, kind: int, shape: Any, image: int, but: int, at: int = 1
) -> int:
    """Return the lowest number of a node of a type with room, except `but`; or NIL.

    `image`: WITH the job's image, WITHOUT it, or ANY. `at`: the leaf of the tree to begin with, or
    1 for the first.
    """
    if not m.sites[shape.job_class, kind].runs:
        return NIL
    facts = m.kinds[index(kind)]
    begin, leaves = facts.tree, facts.leaves
    while True:
        free = s.tree[index(begin + at)]
        if fits(shape, free.cpu, free.gpu, free.memory):
            if at < leaves:
                at = 2 * at
                continue
            number = facts.first_node + at - leaves
            if number != but and (image == ANY or s.images[shape.job_class, number] == image):
                return int(number)
        while at & 1:  # skip the subtree: up from right children, then to the sibling
            at >>= 1
        if at == 0:
            return NIL
        at += 1


@lean
def next_with_room(m: KernelModel, s: KernelState, shape: Any, number: int) -> int:
    """Return the lowest number of a node of any type with room, from `number` on; or NIL."""
    for kind in range(len(m.kinds)):
        facts = m.kinds[index(kind)]
        if number < facts.first_node + facts.nodes:
            at = facts.leaves + number - facts.first_node if number > facts.first_node else 1
            found = search(m, s, kind, shape, ANY, NIL, at)
            if found != NIL:
                return found
    return NIL


@lean
def first_with_room(
    m: KernelModel, s: KernelState, kind: int, shape: Any, image: int, but: int
) -> int:
    """Return the result of `search`, or NIL at once where no node of the type fits."""
    nodes = m.kinds[kind].nodes
    lacking = s.lacking[shape.job_class, kind]
    if (image == WITHOUT and lacking == 0) or (image == WITH and lacking == nodes):
        return NIL
    return search(m, s, kind, shape, image, but)


@inlined
def bring_image(s: KernelState, number: int, job_class: int) -> None:
    """Record that a node has the image of a class."""
    if not s.images[job_class, number]:
        s.images[job_class, number] = True
        s.lacking[job_class, s.nodes[index(number)].type] -= 1
