"""What is free on the nodes, and the search for the first that has room.

Each node type has a binary tree over its nodes whose entries are the most free CPU, GPU and
memory of any node below: a search goes straight past nodes that are full.
"""

from typing import Any

from trimtab.clusters.compiled import inlined, lean
from trimtab.policies.layout import ANY, NIL, WITH, WITHOUT, KernelModel, KernelState, index
from trimtab.simulation.kernel.queues import fits, unblock


@inlined
def refresh(m: KernelModel, s: KernelState, number: int) -> None:
    """Bring the search tree up to date with what is free on a node; nothing, if it is down."""
    node = s.nodes[index(number)]
    kind = node.type
    facts = m.kinds[index(kind)]
    begin, at = facts.tree, facts.leaves + number - facts.first_node
    free = s.tree[index(begin + at)]
    if node.up:
        free.cpu, free.gpu, free.memory = node.free_cpu, node.free_gpu, node.free_memory
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
def take(m: KernelModel, s: KernelState, number: int, shape: Any) -> None:
    """Reserve what a job of `shape` asks for on a node."""
    node = s.nodes[index(number)]
    node.free_cpu -= shape.cpu
    node.free_gpu -= shape.gpu
    node.free_memory -= shape.memory
    refresh(m, s, number)


@inlined
def give_back(m: KernelModel, s: KernelState, number: int, shape: Any, since_s: float) -> None:
    """Free what a job of `shape` held on a node from `since_s` until now."""
    node = s.nodes[index(number)]
    node.free_cpu += shape.cpu
    node.free_gpu += shape.gpu
    node.free_memory += shape.memory
    node.busy_core_s += shape.cpu * 1e-3 * (s.clock[0].now_s - since_s)
    if node.up:
        refresh(m, s, number)
        unblock(s, node)


@inlined
def search(m: KernelModel, s: KernelState, kind: int, shape: Any, image: int, but: int) -> int:
    """Return the lowest number of a node of a type with room, `but` left out; or NOBODY.

    `image`: WITH the job's, WITHOUT it, or ANY.
    """
    if not m.sites[shape.job_class, kind].runs:
        return NIL
    facts = m.kinds[index(kind)]
    begin, leaves = facts.tree, facts.leaves
    at = 1
    while True:
        free = s.tree[index(begin + at)]
        if fits(shape, free.cpu, free.gpu, free.memory):
            if at < leaves:
                at = 2 * at
                continue
            number = facts.first_node + at - leaves
            if number != but and (image == ANY or s.images[shape.job_class, number] == image):
                return int(number)
        while at & 1:  # past the subtree: up while it is a right one, then to its sibling
            at >>= 1
        if at == 0:
            return NIL
        at += 1


@lean
def first_with_room(
    m: KernelModel, s: KernelState, kind: int, shape: Any, image: int, but: int
) -> int:
    """Return what `search` does; nothing is searched where no node of the type would do."""
    nodes = m.kinds[kind].nodes
    lacking = s.lacking[shape.job_class, kind]
    if (image == WITHOUT and lacking == 0) or (image == WITH and lacking == nodes):
        return NIL
    return search(m, s, kind, shape, image, but)


@inlined
def bring_image(s: KernelState, number: int, job_class: int) -> None:
    """Have a node hold the image of a class."""
    if not s.images[job_class, number]:
        s.images[job_class, number] = True
        s.lacking[job_class, s.nodes[index(number)].type] -= 1
