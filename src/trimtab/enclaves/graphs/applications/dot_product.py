"""Dot product: a task a block, each with its own sum, and one task that adds the sums up."""

from trimtab.enclaves.graphs.builder import GraphBuilder
from trimtab.enclaves.graphs.graph import TaskGraph

_DOUBLE_BYTES = 8


def dot_product(blocks: int, block_size: int, *, flop_s: float, secure: bool = True) -> TaskGraph:
    """Return the graph of two vectors of `blocks` blocks of `block_size` doubles.

    `flop_s` is the time of one operation (modelled). Rocha's thesis, section 8.3.2: "we use a
    vector to store intermediate accumulations", which is summed up when all tasks have finished.
    """
    graph = GraphBuilder()
    for block in range(blocks):
        graph.add(
            "dot",
            2.0 * block_size * flop_s,
            reads=[("x", block), ("y", block)],
            writes=[("sum", block)],
            bytes_in=2 * _DOUBLE_BYTES * block_size,
            bytes_out=_DOUBLE_BYTES,
            secure=secure,
        )
    graph.add(
        "sum",
        blocks * flop_s,
        reads=[("sum", block) for block in range(blocks)],
        writes=["result"],
        bytes_in=_DOUBLE_BYTES * blocks,
        bytes_out=_DOUBLE_BYTES,
        secure=secure,
    )
    return graph.graph()
