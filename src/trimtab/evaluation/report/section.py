"""The base of report sections: their tables, figures, key figures, remarks and place.

Every section class in any module of `trimtab.evaluation` is in the report.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from trimtab import evaluation
from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.report.blocks import Block
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.key_figures import KeyFigure
from trimtab.evaluation.report.tables import Table
from trimtab.plugins import modules_in


@dataclass(frozen=True)
class Chapter:
    """A heading of the page with its sections; `link` is its name in the navigation."""

    anchor: str
    heading: str
    link: str


# The headings that sections share; a section may also define its own.
FILES = Chapter("files", "The whole environment", "Files")
SIZE = Chapter("sizes", "Size", "Size")
GPU_CODE = Chapter("gpu", "GPU code", "GPU code")
IN_COMMON = Chapter("common", "What the targets have in common", "In common")
RUNS = Chapter("runs", "Memory, time and energy", "Memory, time, energy")
EFFORT = Chapter("effort", "What it took", "Effort")
UNSEEN = Chapter("unseen", "What was not profiled", "Not profiled")
LIBRARIES = Chapter("libraries", "Library by library", "Libraries")
TUNING = Chapter("tuning", "Tuning", "Tuning")
SCHEDULES = Chapter("schedules", "Schedules", "Schedules")


class ReportSection:
    """A part of the report that is made from the measurements alone, about those of one `stage`.

    Sections are sorted by `order`; sections of one `chapter` stand at its first one. A section
    without a chapter only contributes to other places on the page.
    """

    stage: ClassVar[str]
    order: ClassVar[int]
    chapter: ClassVar[Chapter | None] = None

    def __init__(self, measurements: Measurements) -> None:
        """Keep the section's measurements."""
        self.measurements = measurements

    @property
    def applies(self) -> bool:
        """Whether the experiment has data for this section."""
        return self.stage in self.measurements.results

    @property
    def results(self) -> Any:
        """What was read of the stage's files, where it applies."""
        return self.measurements.results[self.stage]

    def make_tables(self) -> Iterable[Table]:
        """Yield the complete tables, as written to files."""
        return ()

    def make_figures(self) -> Iterable[Figure]:
        """Yield the figures whose data exist."""
        return ()

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The tables, made once."""
        return tuple(self.make_tables())

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """The figures, made once."""
        return tuple(self.make_figures())

    def page(self) -> Iterable[Block]:
        """Yield the blocks under the chapter's heading: figures, then tables."""
        yield from self.figures
        yield from self.tables

    def top(self) -> Iterable[Block]:
        """Yield the most important blocks, above everything."""
        return ()

    def done(self) -> Iterable[Block]:
        """Yield the blocks under "What was done"."""
        return ()

    def key_figures(self) -> Iterable[tuple[str, KeyFigure]]:
        """Yield the key figures, each with the name of its subject."""
        return ()

    def caveats(self) -> Iterable[tuple[str, str]]:
        """Yield a name ("" for all) and a remark on each missing, modelled or failed measurement.

        A remark on several names is printed once.
        """
        return ()

    def metrics(self) -> Mapping[str, Any]:
        """Return our numbers for `metrics.json`, by name or nested; sections are merged."""
        return {}


class TargetSection(ReportSection):
    """A section about debloated targets and their workloads."""

    stage = "debloat"


def find_sections() -> list[type[ReportSection]]:
    """Return the section classes of all modules of the evaluation, in the order of the report.

    A class without an `order` is a base class.
    """
    sections = {
        kind
        for module in modules_in(evaluation.__name__, evaluation.__path__)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, ReportSection) and hasattr(kind, "order")
    }
    return sorted(sections, key=lambda kind: (kind.order, kind.__name__))
