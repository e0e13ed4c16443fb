"""Breadth-first search from many vertices at once, similar to Rodinia's."""

import warnings
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from trimtab.workloads.common import command, iterations
from trimtab.workloads.common.command import positive
from trimtab.workloads.data import InputError, graphs

_SEARCHES = 256  # per epoch


class BreadthFirstSearch(nn.Module):  # type: ignore[misc]
    """Searches from `batch_size` random vertices at a time.

    A level is the product of the adjacency matrix with the frontiers, as in GraphBLAS. A search
    ends at level `levels`, or when it finds no new vertex. The accuracy is the mean share of
    vertices that the searches so far have reached; the loss is the rest.
    """

    def __init__(
        self, vertices: int, edges: graphs.Edges, levels: int, batch_size: int, searches: int
    ) -> None:
        super().__init__()
        self.vertices, self.levels = vertices, levels
        self.batch_size, self.searches = batch_size, searches
        order = np.lexsort((edges[:, 0], edges[:, 1]))
        rows = np.concatenate([[0], np.bincount(edges[:, 1], minlength=vertices).cumsum()])
        columns = torch.from_numpy(edges[order, 0].copy())
        with warnings.catch_warnings():  # PyTorch warns about the new layout
            warnings.simplefilter("ignore", UserWarning)
            self.into = torch.sparse_csr_tensor(
                torch.from_numpy(rows), columns, torch.ones(len(edges)), (vertices, vertices)
            )
        self.register_buffer("reached", torch.zeros((), dtype=torch.int64))
        self.register_buffer("searched", torch.zeros((), dtype=torch.int64))

    def advance(self, order: Any) -> float:
        """Search from vertices drawn by `order`, and return the loss of this epoch."""
        starts = torch.randint(self.vertices, (self.searches,), generator=order)
        reached = sum(int(self.search(some).sum()) for some in starts.split(self.batch_size))
        self.reached += reached
        self.searched += len(starts)
        return 1 - reached / len(starts) / self.vertices

    def search(self, starts: Any) -> Any:
        """Return the vertices reached from each of `starts`, bool [vertices, starts]."""
        seen = torch.zeros(self.vertices, len(starts), dtype=torch.bool)
        seen[starts, torch.arange(len(starts))] = True
        frontier = seen
        for _ in range(self.levels):
            frontier = (self.into @ frontier.float() > 0) & ~seen
            if not frontier.any():
                break
            seen = seen | frontier
        return seen

    def quality(self) -> dict[str, float]:
        """Return the share of reached vertices."""
        found = int(self.reached) / max(1, int(self.searched)) / self.vertices
        return {"validation_accuracy": found}


def build(arguments: Namespace) -> tuple[Any, dict[str, Any]]:
    """Return the computation and a description of its graph."""
    if arguments.scale > 24:
        raise InputError(f"--scale {arguments.scale}: expected at most 24")
    name, source, vertices, edges = graphs.load(arguments.data, arguments.scale, arguments.seed)
    searches = max(1, round(_SEARCHES * arguments.data_fraction))
    search = BreadthFirstSearch(vertices, edges, arguments.levels, arguments.batch_size, searches)
    about = {"name": name, "source": source, "vertices": vertices, "edges": len(edges)}
    return search, {"data": about}


if __name__ == "__main__":
    options = command.parser("Breadth-first search in a graph.", devices=())
    iterations.add_options(options, batch_size=64)
    options.add_argument("--data", type=Path, help="an edge list; without it a graph is drawn")
    options.add_argument("--scale", type=positive, default=15, help="it has 2^scale vertices")
    options.add_argument("--levels", type=positive, default=4, help="of a search, at most")
    iterations.main(options, build)
