"""What became of the jobs of a trace under a policy, as the schedule stage wrote it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

Numbers: TypeAlias = Mapping[str, float | None]


@dataclass(frozen=True)
class Analytic:
    """The same cell by formula: numbers by class, or why there are none."""

    model: str
    classes: Mapping[str, Numbers]
    not_possible_because: str = ""


@dataclass(frozen=True)
class Real:
    """The same cell run for real: numbers by class, in seconds of the trace.

    `jobs` has the columns of SCHEDULED; `scale` is by how much the real jobs were shortened, and
    `sprint` says how they were sped up. `energy_source` is empty where energy was not looked at.
    """

    engine: str
    scale: float
    machine: str
    sprint: str
    classes: Mapping[str, Numbers]
    jobs: Path
    energy_source: str = ""


@dataclass(frozen=True)
class Cell:
    """One policy on one trace and cluster, simulated.

    `classes` (highest priority first) and `totals` hold the numbers of summary.json. `jobs`
    (SCHEDULED) and `stays` (STAYS) may be longer than memory and are files; stays are those of the
    first `stays_jobs` jobs, or of all where it is None. `nodes` has the columns of NODES, `load`
    those of LOAD.
    """

    cluster: str
    trace: str
    policy: str
    label: str
    baseline: bool
    engine: str
    seed: int
    classes: Mapping[str, Numbers]
    totals: Numbers
    energy_source: str
    service_source: str
    jobs: Path
    stays: Path
    nodes: pd.DataFrame
    load: pd.DataFrame
    stays_jobs: int | None = None
    analytic: Analytic | None = None
    real: Real | None = None

    @property
    def total_energy_j(self) -> float | None:
        """Idle and active energy of the whole cluster; None where either is unknown."""
        idle, active = self.totals["idle_energy_j"], self.totals["active_energy_j"]
        return None if idle is None or active is None else idle + active

    @property
    def processing_energy_j(self) -> float | None:
        """Active energy, and of the idle energy the share of the time in use; None where unknown.

        Of a cluster that is switched on for its jobs alone.
        """
        idle, active = self.totals["idle_energy_j"], self.totals["active_energy_j"]
        used = self.totals["utilisation"]
        return None if idle is None or active is None or used is None else active + idle * used

    @property
    def evicts(self) -> bool:
        """Whether any job was evicted."""
        return any((numbers["evictions"] or 0) > 0 for numbers in self.classes.values())

    @property
    def sprints(self) -> bool:
        """Whether any job was sped up for a while."""
        return any((numbers["sprint_s"] or 0) > 0 for numbers in self.classes.values())


@dataclass(frozen=True)
class CellGroup:
    """One trace on one cluster: the cells that may be compared, the baseline first."""

    label: str
    cluster: str
    trace: str
    cells: tuple[Cell, ...]

    @property
    def baseline(self) -> Cell | None:
        """The cell that the others are compared with; None where the experiment names none."""
        return self.cells[0] if self.cells[0].baseline else None

    @property
    def classes(self) -> list[str]:
        """The job classes, highest priority first."""
        found = {name: numbers for cell in self.cells for name, numbers in cell.classes.items()}
        return sorted(found, key=lambda name: -(found[name]["priority"] or 0))


@dataclass(frozen=True)
class Deflator:
    """One search of the deflator: all its candidates (`rows`) and the chosen one, simulated."""

    cluster: str
    trace: str
    objective: str
    classes: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    confirmed: Mapping[str, Numbers]


@dataclass(frozen=True)
class Trace:
    """What is known of a trace as a cluster meets it: when jobs arrive, and the accuracy lost.

    `arrivals` are the jobs of each class in bins of `bin_s`. `accuracy_loss` holds, by class,
    points of drop ratio (0 to 1) and loss in per cent. `skipped` counts the rows of a recorded
    trace that were left out, by reason.
    """

    name: str
    cluster: str
    bin_s: float
    arrivals: Mapping[str, list[int]]
    accuracy_loss: Mapping[str, list[tuple[float, float]]]
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Probe:
    """One probing task on one type of node: its time and its energy without the idle power.

    `work` is how much of the task was done, in the task's own unit; `governor` is a CPU governor or
    frequency level; `source` is "measured" or "modelled".
    """

    node_type: str
    task: str
    governor: str
    cores: int
    work: float
    wall_s: float
    energy_j: float | None
    source: str


@dataclass(frozen=True)
class ClassOutcome:
    """One class of one cell, simulated or run for real, with the baseline's where there is one."""

    cell: Cell
    job_class: str
    engine: str
    is_real: bool
    numbers: Numbers
    baseline: Numbers | None

    @property
    def energy_source(self) -> str:
        """Where its energy is from: "measured", "modelled" or ""."""
        if not self.is_real:
            return self.cell.energy_source
        return self.cell.real.energy_source if self.cell.real else ""

    def difference_pct(self, key: str) -> float | None:
        """Return by how many per cent `key` is above the baseline's; below is negative."""
        return None if self.baseline is None else difference_pct(self.baseline, self.numbers, key)


@dataclass(frozen=True)
class Schedules:
    """All cells of an experiment, and what was found about their traces and nodes."""

    cells: tuple[Cell, ...] = ()
    deflators: tuple[Deflator, ...] = ()
    traces: tuple[Trace, ...] = ()
    probes: tuple[Probe, ...] = field(default_factory=tuple)

    @cached_property
    def settings(self) -> tuple[CellGroup, ...]:
        """The cells by cluster and trace, in the order of the experiment."""
        found: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.cluster, cell.trace), []).append(cell)
        clusters = {cluster for cluster, _ in found}
        return tuple(
            CellGroup(
                trace if len(clusters) == 1 else f"{trace} on {cluster}",
                cluster,
                trace,
                tuple(sorted(cells, key=lambda cell: not cell.baseline)),
            )
            for (cluster, trace), cells in found.items()
        )


def outcomes(setting: CellGroup) -> Iterator[ClassOutcome]:
    """Yield the classes of every cell, simulated and, where it was run, for real."""
    baseline = setting.baseline
    for cell in setting.cells:
        compared = baseline if cell is not baseline else None
        for name, numbers in cell.classes.items():
            before = compared.classes.get(name) if compared else None
            yield ClassOutcome(cell, name, cell.engine, False, numbers, before)
        if cell.real:
            real = compared.real if compared else None
            for name, numbers in cell.real.classes.items():
                before = real.classes.get(name) if real else None
                yield ClassOutcome(cell, name, cell.real.engine, True, numbers, before)


def difference_pct(before: Numbers, after: Numbers, key: str) -> float | None:
    """Return by how many per cent `after[key]` is above `before[key]`; None where unknown."""
    return relative_pct(before.get(key), after.get(key))


def relative_pct(before: float | None, after: float | None) -> float | None:
    """Return by how many per cent `after` is above `before`; None where that says nothing."""
    return None if not before or after is None else 100.0 * (after - before) / before
