"""What a simulator gives out while it runs, and what it is asked."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from trimtab.policies.base import Policy

LoadRow = tuple[float, ...]  # in the order of tables.LOAD

# Given the jobs finished since it was last asked (layout.FINISHED_ROW) and the time, it returns
# the policy that goes on from here, or None: the same.
Maintain = Callable[[NDArray[np.void], float], Policy | None]


@dataclass(frozen=True)
class SimulationRequest:
    """What to record and when to ask: samples of the load, allocations, model maintenance."""

    sample_s: float
    allocations: bool
    maintain_s: float
    maintain: Maintain | None


@dataclass(frozen=True)
class Batch:
    """Finished jobs (layout.FINISHED_ROW), allocations (layout.ALLOCATION_ROW) and samples of the
    load.

    The simulator leaves the arrays alone from then on.
    """

    rows: NDArray[np.void]
    allocations: NDArray[np.void]
    load: list[LoadRow] = field(default_factory=list)


@dataclass(frozen=True)
class End:
    """How it ended: the time, jobs that never finished, events, and by node the integrals."""

    end_s: float
    unfinished: int
    events: int
    busy_core_s: NDArray[np.float64]
    down_s: NDArray[np.float64]
    active_energy_j: NDArray[np.float64]


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
