"""How long debloating takes, from the traced run to the slim libraries."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from trimtab.evaluation.report.chapters import EFFORT
from trimtab.evaluation.report.compared import compared, target_row
from trimtab.evaluation.report.metrics import by_row
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import Column, Table


class DebloatingTime(TargetSection):
    """The time that each step of debloating a target took."""

    order = 500
    chapter = EFFORT

    def make_tables(self) -> Iterator[Table]:
        """A row for each target."""
        rows = []
        for target in self.measurements.targets:
            timings = asdict(target.manifest.timings)
            times = {**timings, "end_to_end_s": sum(timings.values())}
            rows.append(target_row(target, {"libraries": len(target.libraries), **times}))
        no_gpu = "." if self.measurements.have_gpu_code else ", of which there is none here."
        yield compared(
            "debloating_time",
            "Time to debloat, end to end",
            "From the traced run to the slim libraries, as published. Trace: the traced runs of "
            "the workloads. Locate: which spans are kept. Rewrite: the new libraries. Copying the "
            "rest of the environment comes on top. The published times include GPU code"
            f"{no_gpu}",
            (
                Column("libraries", "Libraries", 0),
                Column("trace_s", "Trace, s", 1),
                Column("locate_s", "Locate, s", 1),
                Column("rewrite_s", "Rewrite, s", 1),
                Column("end_to_end_s", "End to end, s", 1),
            ),
            rows,
        )

    def metrics(self) -> Mapping[str, Any]:
        """Return the times of each target."""
        return {"targets": by_row(self.tables[0], "name")}
