"""Blocked Cholesky factorization: POTRF, TRSM, SYRK and GEMM, each call a task."""

from trimtab.enclaves.graphs.builder import GraphBuilder
from trimtab.enclaves.graphs.graph import TaskGraph

_DOUBLE_BYTES = 8


def cholesky(blocks: int, block_size: int, *, flop_s: float, secure: bool = True) -> TaskGraph:
    """Return the graph of a matrix of `blocks` x `blocks` blocks of `block_size` squared doubles.

    `flop_s` is the time of one operation; LAPACK's counts are multiplied by it (modelled). The
    graph has b (b + 1) (b + 2) / 6 tasks. Rocha's thesis, section 8.3.2.
    """
    graph = GraphBuilder()
    cube, block_bytes = flop_s * float(block_size) ** 3, _DOUBLE_BYTES * block_size**2

    def add(kind: str, flops: float, reads: list[int], updated: int) -> None:
        """Add a task that updates one block."""
        graph.add(
            kind,
            flops * cube,
            reads=[*reads, updated],
            writes=[updated],
            bytes_in=block_bytes * (len(reads) + 1),
            bytes_out=block_bytes,
            working_set_bytes=block_bytes * (len(reads) + 1),
            secure=secure,
        )

    for k in range(blocks):
        add("potrf", 1 / 3, [], k * blocks + k)
        for i in range(k + 1, blocks):
            add("trsm", 1.0, [k * blocks + k], i * blocks + k)
        for i in range(k + 1, blocks):
            for j in range(k + 1, i):
                add("gemm", 2.0, [i * blocks + k, j * blocks + k], i * blocks + j)
            add("syrk", 1.0, [i * blocks + k], i * blocks + i)
    return graph.graph()
