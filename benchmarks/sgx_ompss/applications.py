"""The loads of SGX-OmpSs' five benchmarks, as formulas of their size and block parameters.

Section 8.3.2 of Rocha's thesis describes them in words. Further counts come from the authors'
programs (github.com/isabellyrocha/sgx-ompss-apps), and are given at each formula.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

DOUBLE_BYTES = 8
PAGE_BYTES = 4096
_LINE_BYTES = 64
_CACHE_BYTES = 8 * 2**20  # the last-level cache of the authors' Intel E3-1275
_STREAM_ROUNDS = 10  # NTIMES of Stream: copy, scale, add and triad, each over all elements


@dataclass(frozen=True)
class ApplicationLoad:
    """The load of one run of an application, independent of the machine.

    `operations` are iterations of the innermost loops. `span_share` is the share of work on the
    task graph's longest path. `encrypted_bytes` are encrypted or decrypted by `esgxo`.
    `memory_bytes` are transferred from or to memory, beyond the caches. `serial_operations` are
    done before or after the tasks. `shared_writes` go to a cache line of several tasks. Only for
    the enclave's code: `inside_bytes` come from memory while each iteration waits, and
    `first_touches` counts pages not used before.
    """

    tasks: float
    operations: float
    span_share: float
    encrypted_bytes: float
    memory_bytes: float = 0.0
    serial_operations: float = 0.0
    shared_writes: float = 0.0
    inside_bytes: float = 0.0
    first_touches: float = 0.0


def cholesky(size: int, block: int) -> ApplicationLoad:
    """Factorization of a matrix of `size` x `size` in blocks of `block` x `block`.

    POTRF, TRSM, SYRK and GEMM take 1/3, 1/2, 1/2 and 1 of block^3 multiplications and additions;
    the longest path is POTRF, TRSM, SYRK of each column. The timed part also makes and copies the
    matrix. Only `block` numbers of each block of a task are encrypted.

    The plain loops in the enclave go down columns, one cache line per iteration. If two blocks
    exceed the last-level cache, every line misses again: rows are powers of two bytes long, so a
    column's lines share few cache sets. Only TRSM goes along rows, and reads and writes one number
    per iteration.
    """
    columns = size / block
    pairs = columns * (columns - 1) / 2
    triples = columns * (columns - 1) * (columns - 2) / 6
    work = columns / 3 + pairs + triples
    down_columns = columns / 3 + pairs / 2 + triples
    moved = (down_columns * _LINE_BYTES + pairs / 2 * 2 * DOUBLE_BYTES) * block**3
    misses = 2 * block**2 * DOUBLE_BYTES > _CACHE_BYTES
    return ApplicationLoad(
        tasks=columns + 2 * pairs + triples,
        operations=work * block**3,
        span_share=(4 / 3 * (columns - 1) + 1 / 3) / work,
        encrypted_bytes=(2 * columns + 8 * pairs + 6 * triples) * block * DOUBLE_BYTES,
        serial_operations=float(size**2),
        inside_bytes=moved if misses else 0.0,
    )


def dot_product(size: int, block: int) -> ApplicationLoad:
    """Product of two vectors of `size` x 1024 numbers in chunks of `block` x 1024.

    Each task adds to its own number of one vector; all of these lie in one cache line. A single
    number of each chunk is decrypted, and the sums before it are encrypted.
    """
    tasks, operations = ceil(size / block), size * 1024
    return ApplicationLoad(
        tasks=tasks,
        operations=operations,
        span_share=1 / tasks,
        encrypted_bytes=(2 * tasks + tasks * (tasks - 1) / 2) * DOUBLE_BYTES,
        memory_bytes=2 * operations * DOUBLE_BYTES,
        shared_writes=operations if tasks > 1 else 0,
    )


def matmul(size: int, block: int) -> ApplicationLoad:
    """Product of two matrices of `size` x `size` blocks of `block` x `block` (algorithm 7).

    The `size` tasks of a block of the result are serial. `block` numbers of each of a task's three
    blocks are encrypted.
    """
    tasks = size**3
    return ApplicationLoad(
        tasks=tasks,
        operations=tasks * block**3,
        span_share=1 / size**2,
        encrypted_bytes=3 * tasks * block * DOUBLE_BYTES,
    )


def stream_barr(size: int, block: int) -> ApplicationLoad:
    """Stream with barriers: vectors of `size` x 2^20 numbers in `block` chunks.

    Initialisation, then ten times copy, scale, add and triad: 41 loops over all numbers. Each round
    encrypts or decrypts 16 numbers per element. Written numbers are read first: copy and scale move
    3, add and triad 4, initialisation 6.
    """
    numbers = size * 2**20
    return ApplicationLoad(
        tasks=(4 * _STREAM_ROUNDS + 1) * block,
        operations=(4 * _STREAM_ROUNDS + 1) * numbers,
        span_share=1 / block,
        encrypted_bytes=16 * _STREAM_ROUNDS * numbers * DOUBLE_BYTES,
        memory_bytes=(14 * _STREAM_ROUNDS + 6) * numbers * DOUBLE_BYTES,
        first_touches=3 * numbers * DOUBLE_BYTES / PAGE_BYTES,
    )


def stream_deps(size: int, block: int) -> ApplicationLoad:
    """Stream with dependences only: vectors of `size` x 1024 numbers in chunks of `block`.

    The loops of `stream_barr` on vectors that fit the cache, and 20 numbers encrypted or decrypted.
    """
    numbers = size * 1024
    chunks = numbers / block
    return ApplicationLoad(
        tasks=(4 * _STREAM_ROUNDS + 1) * chunks,
        operations=(4 * _STREAM_ROUNDS + 1) * numbers,
        span_share=1 / chunks,
        encrypted_bytes=20 * _STREAM_ROUNDS * numbers * DOUBLE_BYTES,
        first_touches=3 * numbers * DOUBLE_BYTES / PAGE_BYTES,
    )


APPLICATIONS: dict[str, Callable[[int, int], ApplicationLoad]] = {
    load.__name__: load for load in (cholesky, dot_product, matmul, stream_barr, stream_deps)
}
