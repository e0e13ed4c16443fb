"""The Stream benchmark: copy, scale, add and triad on blocks of three vectors, again and again."""

from trimtab.enclaves.graphs.builder import GraphBuilder
from trimtab.enclaves.graphs.graph import TaskGraph

_DOUBLE_BYTES = 8
_KERNELS = (
    ("copy", "a", "c"),
    ("scale", "c", "b"),
    ("add", "ab", "c"),
    ("triad", "bc", "a"),
)


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
