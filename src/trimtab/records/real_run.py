"""`real.json`: a cell run for real, beside its simulation."""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from trimtab.records.document import PART, Document
from trimtab.records.figures import ClassFigures


@dataclass(frozen=True, config=PART)
class JobErrors:
    """By how much the simulated response of a job differs from the real one, without sign.

    Over the `jobs` that are in both; null where there is none.
    """

    jobs: int
    mean_error_pct: float | None
    median_error_pct: float | None


class RealRun(Document):
    """The jobs of a trace run for real; times are in seconds of the trace.

    `scale` is by how much the real jobs were shortened, and `sprint` says how they were sped up.
    """

    stage: ClassVar[str] = "schedule"
    version: Literal[1] = 1
    platform: str
    scale: float
    machine: str
    load_average_before: float
    sprint: str
    energy_source: str
    per_job: JobErrors
    classes: dict[str, ClassFigures]
