"""Adds shapes of jobs to the kernel's state, and builds their tree."""

import numpy as np
from numpy.typing import NDArray

from trimtab.policies import layout
from trimtab.policies.layout import LAST, NIL, KernelModel, KernelState

_SIZES = ("cpu", "gpu", "memory")


def with_shapes(m: KernelModel, s: KernelState, known: int, more: NDArray[np.void]) -> KernelState:
    """Return `s`, which has the first `known` shapes, with the new ones."""
    count = known + len(more)
    if count > len(s.shapes):
        shapes = np.zeros(2 * count, layout.SHAPE)
        shapes[:known] = s.shapes[:known]
        fresh = np.zeros(2 * count, np.int64)
        fresh[: len(s.fresh)] = s.fresh
        s = s._replace(shapes=shapes, fresh=fresh, aside=np.zeros(2 * count, np.int64))
    s.shapes[known:count] = more
    if m.rules["by_priority"][0]:
        s.shapes["rank"][known:count] = -more["priority"]
    return s._replace(queues=_tree(s, count))


def _tree(s: KernelState, count: int) -> NDArray[np.void]:
    """Return the tree over the first `count` shapes."""
    leaves = 1 << (count - 1).bit_length()
    shapes = s.shapes[:count]
    order = _side_by_side(shapes, leaves)
    shapes["leaf"][order] = np.arange(leaves, leaves + count)
    tree = np.zeros(2 * leaves, layout.QUEUE)
    for name in (*_SIZES, "rank", "job"):
        tree[name] = LAST
    tree["shape"] = NIL
    for name in _SIZES:
        tree[name][leaves : leaves + count] = shapes[name][order]
    waiting = np.flatnonzero(shapes["waiting"] > 0)
    at = shapes["leaf"][waiting]
    tree["shape"][at], tree["rank"][at] = waiting, shapes["rank"][waiting]
    tree["job"][at] = s.jobs["job"][shapes["first"][waiting]]
    while leaves > 1:
        below, leaves = tree[leaves : 2 * leaves], leaves // 2
        above, left, right = tree[leaves : 2 * leaves], below[::2], below[1::2]
        for name in _SIZES:
            above[name] = np.minimum(left[name], right[name])
        from_right = right["rank"] < left["rank"]
        from_right |= (right["rank"] == left["rank"]) & (right["job"] < left["job"])
        for name in ("rank", "job", "shape"):
            above[name] = np.where(from_right, right[name], left[name])
    return tree


def _side_by_side(shapes: NDArray[np.void], leaves: int) -> NDArray[np.int64]:
    """Return an order with similar sizes side by side: halves by one size, quarters by another."""
    order = np.arange(len(shapes))
    sizes = [shapes[name] for name in _SIZES if np.ptp(shapes[name]) > 0]
    width, turn = leaves, 0
    while width > 1 and sizes:
        group = np.arange(len(shapes)) // width
        order = order[np.lexsort((sizes[turn % len(sizes)][order], group))]
        width, turn = width // 2, turn + 1
    return order
