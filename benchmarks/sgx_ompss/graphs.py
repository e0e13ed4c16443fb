"""The task graphs of the paper's small benchmarks: Rocha's thesis, section 8.3.2."""

from trimtab.secure_tasks.graphs.builder import GraphBuilder
from trimtab.secure_tasks.graphs.graph import TaskGraph

_DOUBLE_BYTES = 8
_KERNELS = (
    ("copy", "a", "c"),
    ("scale", "c", "b"),
    ("add", "ab", "c"),
    ("triad", "bc", "a"),
)


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


def stream(
    blocks: int,
    block_size: int,
    *,
    repeats: int,
    barriers: bool,
    byte_s: float,
    secure: bool = True,
) -> TaskGraph:
    """Return the graph of `repeats` rounds over vectors of `blocks` blocks of `block_size` doubles.

    With `barriers` each kernel goes over the whole vectors before the next one begins; without,
    the dependences of blocks alone order the tasks. `byte_s` is the time to move one byte
    (modelled). Rocha's thesis, section 8.3.2.
    """
    graph = GraphBuilder()
    block_bytes = _DOUBLE_BYTES * block_size
    for _ in range(repeats):
        for kind, sources, written in _KERNELS:
            for block in range(blocks):
                graph.add(
                    kind,
                    block_bytes * (len(sources) + 1) * byte_s,
                    reads=[(name, block) for name in sources],
                    writes=[(written, block)],
                    bytes_in=block_bytes * len(sources),
                    bytes_out=block_bytes,
                    secure=secure,
                )
            if barriers:
                graph.barrier()
    return graph.graph()
