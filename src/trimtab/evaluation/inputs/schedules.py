"""The results of a trace's jobs under a policy, from the schedule stage."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from trimtab.config.groups.hardware import Probe
from trimtab.records.deflator_search import DeflatorSearch
from trimtab.records.figures import ClassFigures
from trimtab.records.summary import FormulaResponse, RealRun, Summary
from trimtab.records.trace_facts import TraceFacts


@dataclass(frozen=True)
class Cell:
    """One policy on one trace and cluster: simulated and, if available, by formula and for real.

    `label` is the policy's, with its file's name where several share it. `jobs` (SCHEDULED) and
    `allocations` (ALLOCATIONS) may exceed memory and are files; `real_jobs` (SCHEDULED) are from
    the real run. `nodes` has the columns of NODES, `load` the columns of LOAD.
    """

    label: str
    summary: Summary
    jobs: Path
    allocations: Path
    nodes: pd.DataFrame
    load: pd.DataFrame
    formula: FormulaResponse | None = None
    real: RealRun | None = None
    real_jobs: Path | None = None

    @property
    def setting(self) -> tuple[str, str]:
        """The names of its cluster and trace."""
        return self.summary.cluster, self.summary.trace

    @property
    def classes(self) -> dict[str, ClassFigures]:
        """The figures of each class, highest priority first."""
        classes = self.summary.classes
        return {name: classes[name] for name in sorted(classes, key=lambda n: -classes[n].priority)}

    def with_classes(self, names: Container[str]) -> "Cell":
        """Return the cell with only these classes."""
        classes = {name: of for name, of in self.summary.classes.items() if name in names}
        return replace(self, summary=self.summary.model_copy(update={"classes": classes}))

    @property
    def is_stable(self) -> bool:
        """Whether its queue does not grow with every job, as far as known."""
        return not self.summary.unstable_because

    @property
    def total_energy_j(self) -> float | None:
        """Idle and active energy of the whole cluster; None where either is unknown."""
        idle, active = self.summary.all.idle_energy_j, self.summary.all.active_energy_j
        return None if idle is None or active is None else idle + active

    @property
    def processing_energy_j(self) -> float | None:
        """Active energy, and idle energy for the share of time in use; None where unknown.

        This is for a cluster that is switched on only for its jobs.
        """
        idle, active = self.summary.all.idle_energy_j, self.summary.all.active_energy_j
        return (
            None if idle is None or active is None else active + idle * self.summary.all.utilisation
        )


@dataclass(frozen=True)
class CellGroup:
    """One trace on one cluster: the comparable cells, the baseline first."""

    label: str
    cluster: str
    trace: str
    cells: tuple[Cell, ...]

    @property
    def baseline(self) -> Cell | None:
        """The cell to compare the others with; None where the experiment names none."""
        return self.cells[0] if self.cells[0].summary.baseline else None

    def compared_with(self, cell: Cell) -> Cell | None:
        """Return the baseline of a cell's differences; None for the baseline itself.

        There is none either if one of both is unstable: its figures are those of a number of jobs.
        """
        baseline = self.baseline
        if baseline is None or cell is baseline:
            return None
        return baseline if baseline.is_stable and cell.is_stable else None

    @property
    def classes(self) -> list[str]:
        """The job classes, highest priority first."""
        classes = {name: numbers for cell in self.cells for name, numbers in cell.classes.items()}
        return sorted(classes, key=lambda name: -classes[name].priority)


@dataclass(frozen=True)
class ClassOutcome:
    """One class of one cell, simulated or run for real, with the baseline's if any.

    `energy_source` is "measured", "modelled" or "".
    """

    cell: Cell
    job_class: str
    answered_by: str
    energy_source: str
    is_real: bool
    numbers: ClassFigures
    baseline: ClassFigures | None

    def difference_pct(self, key: str) -> float | None:
        """Return the difference of `key` from the baseline's in per cent; negative if below."""
        return relative_pct(getattr(self.baseline, key, None), getattr(self.numbers, key))


@dataclass(frozen=True)
class Schedules:
    """All cells of an experiment, and facts about their traces and nodes."""

    cells: tuple[Cell, ...] = ()
    deflators: tuple[DeflatorSearch, ...] = ()
    traces: tuple[TraceFacts, ...] = ()
    probes: Mapping[str, Sequence[Probe]] = field(default_factory=dict)

    @cached_property
    def settings(self) -> tuple[CellGroup, ...]:
        """The cells by cluster and trace, in the order of the experiment."""
        found: dict[tuple[str, str], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault(cell.setting, []).append(cell)
        clusters = {cluster for cluster, _ in found}
        return tuple(
            CellGroup(
                trace if len(clusters) == 1 else f"{trace} on {cluster}",
                cluster,
                trace,
                tuple(sorted(cells, key=lambda cell: not cell.summary.baseline)),
            )
            for (cluster, trace), cells in found.items()
        )


def outcomes(setting: CellGroup) -> Iterator[ClassOutcome]:
    """Yield the classes of every cell, simulated and, if it was run, for real."""
    for cell in setting.cells:
        compared = setting.compared_with(cell)
        simulated = compared.classes if compared else {}
        ran = compared.real.classes if compared and compared.real else {}
        by, source = cell.summary.simulator, cell.summary.energy_source
        for name, numbers in cell.classes.items():
            yield ClassOutcome(cell, name, by, source, False, numbers, simulated.get(name))
        if cell.real:
            platform, source = cell.real.platform, cell.real.energy_source
            for name, numbers in cell.real.classes.items():
                yield ClassOutcome(cell, name, platform, source, True, numbers, ran.get(name))


def relative_pct(before: float | None, after: float | None) -> float | None:
    """Return the difference of `after` from `before` in per cent; None where meaningless."""
    return None if not before or after is None else 100.0 * (after - before) / before
