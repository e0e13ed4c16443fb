"""How long debloating takes, from the traced run to the slim libraries."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import cached_property
from typing import Any

from trimtab.evaluation.report.chapters import EFFORT
from trimtab.evaluation.report.metrics import by_row
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MEASURED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    published_rows,
)


class DebloatingTime(TargetSection):
    """The time that each step of debloating a target took."""

    order = 500
    chapter = EFFORT

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """A row for each target."""
        rows: list[Row] = []
        for target in self.measurements.targets:
            timings = asdict(target.manifest.timings)
            rows.append(
                {
                    "name": target.label,
                    "hardware": target.hardware,
                    "libraries": len(target.libraries),
                    **timings,
                    "end_to_end_s": sum(timings.values()),
                    "source": MEASURED,
                }
            )
        no_gpu = "." if self.measurements.have_gpu_code else ", of which there is none here."
        table = Table(
            "debloating_time",
            titled("Time to debloat, end to end", "debloating_time"),
            "From the traced run to the slim libraries, as published. Trace: the traced runs of "
            "the workloads. Locate: which spans are kept. Rewrite: the new libraries. Copying the "
            "rest of the environment comes on top. The published times include GPU code"
            f"{no_gpu}",
            (
                Column("name", "Target"),
                HARDWARE_COLUMN,
                Column("libraries", "Libraries", 0),
                Column("trace_s", "Trace, s", 1),
                Column("locate_s", "Locate, s", 1),
                Column("rewrite_s", "Rewrite, s", 1),
                Column("end_to_end_s", "End to end, s", 1),
                *SOURCE_COLUMNS,
            ),
            (*rows, *published_rows("debloating_time")),
        )
        return (table,)

    def metrics(self) -> Mapping[str, Any]:
        """Return the times of each target."""
        return {"targets": by_row(self.tables[0], "name")}
