"""Triangle count on a web-like graph: the graph analysis of DiAS' evaluation."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from trimtab.errors import UserError
from trimtab.spark.dropping import drop, kept_share
from trimtab.spark.program import input_name

if TYPE_CHECKING:
    from pyspark import SparkContext

Edge: TypeAlias = tuple[int, int]

# Samples per triangle: its three edges when read and again when distinct, and its corner when edges
# are paired.
SAMPLED = 7


def partition_edges(source: Path, folder: Path, partitions: int) -> None:
    """Write the edge list `source` into files `part-00000` and so on, one per partition.

    Both directions of a link go to one file, by its hash: GraphX's CanonicalRandomVertexCut. So
    edges are kept or dropped independently of their neighbours. Raises UserError for a line that is
    no edge, comment or heading.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        names = [folder / f"part-{number:05}" for number in range(partitions)]
        parts = [stack.enter_context(name.open("w")) for name in names]
        with source.open() as lines:
            for number, line in enumerate(lines, 1):
                if line.startswith(("#", "FromNodeId")) or not line.strip():
                    continue
                try:
                    start, end = map(int, line.split())
                except ValueError:
                    raise UserError(
                        f"{source}:{number}: {line.strip()!r}; expected two node numbers"
                    ) from None
                link = f"{min(start, end)} {max(start, end)}".encode()
                digest = hashlib.blake2b(link, digest_size=8).digest()
                parts[int.from_bytes(digest) % partitions].write(f"{start}\t{end}\n")


@dataclass(frozen=True)
class TriangleCount:
    """A job that counts the triangles of the graph with its edges in the files of `folder`.

    Directions, loops and repeated edges do not count. There are three ShuffleMap stages and a
    result stage, each with one task per file with edges. They make edges canonical and distinct,
    pair them at the corner of the higher number (in a growing graph, later nodes have few links),
    and look the pairs up among the edges.
    """

    folder: Path

    def __call__(self, context: SparkContext, theta: float, seed: int) -> int:
        """Return the number of triangles found, with tasks dropped in every ShuffleMap stage.

        Raises UserError without edges.
        """
        partitions = self._partitions()
        lines = context.textFile(input_name(self.folder), 1)
        read = drop(lines, theta, seed).map(canonical).filter(lambda edge: edge[0] != edge[1])
        distinct = read.map(lambda edge: (edge, None)).reduceByKey(lambda one, _: one, partitions)
        edges = drop(distinct, theta, seed + 1)
        corners = edges.keys().map(lambda edge: (edge[1], edge[0])).groupByKey(partitions)
        pairs = drop(corners, theta, seed + 2).flatMap(pairs_of)
        return int(edges.join(pairs, partitions).count())

    def error_pct(self, found: int, exact: int, theta: float) -> float:
        """Return the relative error of the estimate from the count `found` at `theta`."""
        estimate = found / kept_share(self._partitions(), theta) ** SAMPLED
        return 100 * abs(estimate - exact) / exact

    def _partitions(self) -> int:
        # Spark makes no partition of an empty file.
        partitions = sum(part.stat().st_size > 0 for part in self.folder.glob("part-*"))
        if not partitions:
            raise UserError(f"{self.folder}: no edges in part-* files, see partition_edges")
        return partitions


def canonical(line: str) -> Edge:
    """Return a line's edge with the lower number first."""
    start, end = map(int, line.split())
    return (start, end) if start < end else (end, start)


def pairs_of(corner: tuple[int, Iterable[int]]) -> Iterator[tuple[Edge, int]]:
    """Yield each pair of a corner's lower neighbours, in order, with the corner."""
    node, neighbours = corner
    for pair in combinations(sorted(neighbours), 2):
        yield pair, node
