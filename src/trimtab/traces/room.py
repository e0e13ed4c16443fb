"""Leaves out the jobs that no node of a cluster has room for."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

NO_ROOM = "asks for more than any node has"


class NodeSize(NamedTuple):
    """The resources of an empty node.

    Its GPUs are whole, so a share of a GPU fits one, and 1.5 GPUs need two.
    """

    cpu_milli: int
    gpu_milli: int
    memory_bytes: int


def fitting(
    frames: Iterable[pd.DataFrame], nodes: Sequence[NodeSize], skipped: Counter[str]
) -> Iterator[pd.DataFrame]:
    """Yield the rows that fit an empty node of one of the sizes; count the others in `skipped`.

    `frames` have cpu_milli, gpu_milli and memory_bytes.
    """
    for frame in frames:
        fits = np.zeros(len(frame), bool)
        for node in nodes:
            sizes = zip(NodeSize._fields, node, strict=True)
            fits |= np.logical_and.reduce([frame[name].to_numpy() <= size for name, size in sizes])
        skipped[NO_ROOM] += int((~fits).sum())
        yield frame[fits]


def renumbered(frames: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Yield the chunks of a trace (tables.TRACE) with jobs counted from 0."""
    jobs = 0
    for frame in frames:
        yield frame.assign(job=np.arange(jobs, jobs + len(frame)))
        jobs += len(frame)
