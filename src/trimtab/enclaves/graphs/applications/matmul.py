"""Blocked matrix multiplication: each product of two blocks is a task that adds to one of C."""

from trimtab.enclaves.graphs.builder import GraphBuilder
from trimtab.enclaves.graphs.graph import TaskGraph

_DOUBLE_BYTES = 8


def matmul(blocks: int, block_size: int, *, flop_s: float, secure: bool = True) -> TaskGraph:
    """Return the graph of C += A B, each of `blocks` x `blocks` blocks of `block_size` squared.

    The blocks^3 tasks are chains, one a block of C. `flop_s` is the time of one operation
    (modelled). Rocha's thesis, section 8.3.2.
    """
    graph = GraphBuilder()
    block_bytes = _DOUBLE_BYTES * block_size**2
    for k in range(blocks):
        for i in range(blocks):
            for j in range(blocks):
                graph.add(
                    "multiply",
                    2.0 * flop_s * float(block_size) ** 3,
                    reads=[("a", i, k), ("b", k, j), ("c", i, j)],
                    writes=[("c", i, j)],
                    bytes_in=3 * block_bytes,
                    bytes_out=block_bytes,
                    working_set_bytes=3 * block_bytes,
                    secure=secure,
                )
    return graph.graph()
