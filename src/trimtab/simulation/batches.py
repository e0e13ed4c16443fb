"""The requests to a simulator, and its output while it runs."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trimtab.policies.base import Policy

LoadRow = tuple[float, ...]  # in the order of tables.LOAD

# Given the jobs finished since the last call (layout.FINISHED_ROW) and the time, it returns the
# next policy, or None for the same.
Maintain = Callable[[NDArray[np.void], float], Policy | None]


@dataclass(frozen=True)
class SimulationRequest:
    """Options of a simulation: samples of the load, allocations, model maintenance."""

    sample_s: float
    allocations: bool
    maintain_s: float
    maintain: Maintain | None


@dataclass(frozen=True)
class Batch:
    """Finished jobs, allocations and samples of the load.

    Rows are layout.FINISHED_ROW and ALLOCATION_ROW. The simulator does not change the arrays
    afterwards.
    """

    rows: NDArray[np.void]
    allocations: NDArray[np.void]
    load: list[LoadRow] = field(default_factory=list)


@dataclass(frozen=True)
class End:
    """The end of a simulation: time, unfinished jobs, events, and integrals by node."""

    end_s: float
    unfinished: int
    events: int
    busy_core_s: NDArray[np.float64]
    down_s: NDArray[np.float64]
    active_energy_j: NDArray[np.float64]
    free_gpu_s: NDArray[np.float64]
    fragmented_gpu_s: NDArray[np.float64]


def load_row(
    now_s: float,
    pending: int,
    running: int,
    up: NDArray[np.bool_],
    cpu_share: NDArray[np.float64],
    memory_share: NDArray[np.float64],
    power_w: float,
) -> LoadRow:
    """Return one row of tables.LOAD: percentiles over the nodes that are up."""
    ranks = (0, 25, 50, 75, 100)
    shares: list[float] = []
    for share in (cpu_share, memory_share):
        values = np.percentile(share[up], ranks) if up.any() else np.zeros(len(ranks))
        shares += [float(value) for value in values]
    return (now_s, pending, running, *shares, power_w)
