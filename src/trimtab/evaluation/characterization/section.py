"""The base of the sections about characterized workloads."""

from functools import cached_property
from typing import ClassVar

import pandas as pd

from trimtab.evaluation.report.section import Chapter, ReportSection
from trimtab.evaluation.report.tables import Column

CHARACTERIZATION = Chapter("characterization", "Learning workloads on Spark", "Characterization")
WORKLOAD = (Column("name", "Workload"),)
DETAILS = Column("details", "Remark")
# The thesis' deep methods, on BigDL there; all others are MLlib's in both.
_DEEP = {"CNN", "GRU", "LENET5", "LSTM"}


class CharacterizationSection(ReportSection):
    """A section about characterized workloads."""

    stage = "characterize"
    chapter: ClassVar[Chapter | None] = CHARACTERIZATION

    @property
    def runs(self) -> pd.DataFrame:
        """All runs, with the columns of CHARACTERIZATION_RUNS."""
        found: pd.DataFrame = self.results
        return found

    @cached_property
    def complete(self) -> pd.DataFrame:
        """The successful runs, with the `library` of their method: MLlib or PyTorch."""
        complete = self.runs[self.runs["complete"].astype(bool)]
        return complete.assign(library=complete["method"].map(library_of))

    @cached_property
    def engines(self) -> str:
        """The engines of the runs: Spark's masters."""
        return ", ".join(sorted(map(str, self.runs["engine"].dropna().unique())))

    @cached_property
    def by_workload(self) -> dict[str, pd.DataFrame]:
        """All runs of each workload, in the order of their first mention."""
        return {str(name): own for name, own in self.runs.groupby("workload", sort=False)}


def library_of(method: str) -> str:
    """Return the library of a method."""
    return "PyTorch" if str(method).upper() in _DEEP else "MLlib"
