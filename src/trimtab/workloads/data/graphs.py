"""Graphs: a local copy of a SNAP edge list, or a random graph as in Graph500."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from trimtab.workloads.data import InputError

_QUADRANTS = (0.57, 0.19, 0.19, 0.05)  # the Graph500 specification
_EDGES_PER_VERTEX = 16

Edges = npt.NDArray[np.int64]


def load(path: Path | None, scale: int, seed: int) -> tuple[str, str, int, Edges]:
    """Return name and source of a graph, its number of vertices, and its edges, [edges, 2].

    `path` is a text file with one edge per line: the numbers of two vertices. A heading line and
    lines that begin with `#` are skipped. Without it, the graph has 2^`scale` vertices, drawn from
    `seed`. There are no duplicate edges and no loops. Raises InputError when the file cannot be
    read so.
    """
    if path is None:
        name, source = f"Kronecker graph of scale {scale}", f"drawn from seed {seed} as by Graph500"
        edges, vertices = _drawn(scale, np.random.default_rng(seed)), 2**scale
    else:
        name, source = path.stem, f"edge list {path}"
        _, dense = np.unique(read_edges(path), return_inverse=True)
        edges = dense.reshape(-1, 2).astype(np.int64)
        vertices = int(edges.max()) + 1
    return name, source, vertices, np.unique(edges[edges[:, 0] != edges[:, 1]], axis=0)


def read_edges(path: Path) -> Edges:
    """Return the edges of a file unchanged."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        lines = [line for line in lines if line.strip() and not line.startswith("#")]
        if lines and not lines[0].split()[0].isdecimal():  # column names
            lines = lines[1:]
        edges = np.array([line.split() for line in lines], dtype=np.int64)
    except (OSError, ValueError, OverflowError) as error:
        raise InputError(f"--data {path}: {error}; expected two vertices a line") from None
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.min() < 0:
        raise InputError(f"--data {path}: expected lines of two vertices, numbers from 0")
    return edges


def _drawn(scale: int, rng: np.random.Generator) -> Edges:
    edges = np.zeros((_EDGES_PER_VERTEX << scale, 2), dtype=np.int64)
    for _ in range(scale):
        quadrant = rng.choice(4, size=len(edges), p=_QUADRANTS)
        edges = 2 * edges + np.stack([quadrant // 2, quadrant % 2], axis=1)
    return edges
