"""What is free on the nodes, and the search for the first that has room.

Each node type has a binary tree over its nodes whose entries are the most free CPU, GPU and
memory of any node below: a search goes straight past nodes that are full.
"""

from typing import Any

from trimtab.scheduling.engine.compiled import inlined, lean
from trimtab.scheduling.engine.layout import ANY, NOBODY, WITH, WITHOUT, Model, State
from trimtab.scheduling.engine.queues import fits, unblock


@inlined
def refresh(m: Model, s: State, number: int) -> None:
    """Bring the search tree up to date with what is free on a node; nothing, if it is down."""
    node = s.nodes[number]
    kind = node.type
    begin = m.kinds[kind].tree
    at = m.kinds[kind].leaves + number - m.kinds[kind].first_node
    tree = s.tree
    if node.up:
        tree[begin + at, 0] = node.free_cpu
        tree[begin + at, 1] = node.free_gpu
        tree[begin + at, 2] = node.free_memory
    else:
        tree[begin + at, 0] = tree[begin + at, 1] = tree[begin + at, 2] = -1
    at >>= 1
    while at > 0:
        left = begin + 2 * at
        cpu = max(tree[left, 0], tree[left + 1, 0])
        gpu = max(tree[left, 1], tree[left + 1, 1])
        memory = max(tree[left, 2], tree[left + 1, 2])
        here = begin + at
        if tree[here, 0] == cpu and tree[here, 1] == gpu and tree[here, 2] == memory:
            break
        tree[here, 0], tree[here, 1], tree[here, 2] = cpu, gpu, memory
        at >>= 1


@inlined
def take(m: Model, s: State, number: int, shape: Any) -> None:
    """Reserve what a job of `shape` asks for on a node."""
    node = s.nodes[number]
    node.free_cpu -= shape.cpu
    node.free_gpu -= shape.gpu
    node.free_memory -= shape.memory
    refresh(m, s, number)


@inlined
def give_back(m: Model, s: State, number: int, shape: Any, since_s: float) -> None:
    """Free what a job of `shape` held on a node from `since_s` until now."""
    node = s.nodes[number]
    node.free_cpu += shape.cpu
    node.free_gpu += shape.gpu
    node.free_memory += shape.memory
    node.busy_core_s += shape.cpu * 1e-3 * (s.clock[0].now_s - since_s)
    if node.up:
        refresh(m, s, number)
        unblock(s, node)


@inlined
def search(m: Model, s: State, kind: int, shape: Any, image: int, but: int) -> int:
    """Return the lowest number of a node of a type with room, `but` left out; or NOBODY.

    `image`: WITH the job's, WITHOUT it, or ANY.
    """
    begin, leaves, tree = m.kinds[kind].tree, m.kinds[kind].leaves, s.tree
    at = 1
    while True:
        here = begin + at
        if fits(shape, tree[here, 0], tree[here, 1], tree[here, 2]):
            if at < leaves:
                at = 2 * at
                continue
            number = m.kinds[kind].first_node + at - leaves
            if number != but and (image == ANY or s.images[shape.job_class, number] == image):
                return int(number)
        while at & 1:  # past the subtree: up while it is a right one, then to its sibling
            at >>= 1
        if at == 0:
            return NOBODY
        at += 1


@lean
def first_with_room(m: Model, s: State, kind: int, shape: Any, image: int, but: int) -> int:
    """Return what `search` does; nothing is searched where no node of the type would do."""
    nodes = m.kinds[kind].nodes
    lacking = s.lacking[shape.job_class, kind]
    if (image == WITHOUT and lacking == 0) or (image == WITH and lacking == nodes):
        return NOBODY
    return search(m, s, kind, shape, image, but)


@inlined
def bring_image(s: State, number: int, job_class: int) -> None:
    """Have a node hold the image of a class."""
    if not s.images[job_class, number]:
        s.images[job_class, number] = True
        s.lacking[job_class, s.nodes[number].type] -= 1
