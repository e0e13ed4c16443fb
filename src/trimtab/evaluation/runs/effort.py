"""The effort of debloating: its duration, and the overhead of tracing."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from trimtab.evaluation.inputs.measurements import WorkloadProfile
from trimtab.evaluation.report.section import EFFORT, TargetSection
from trimtab.evaluation.report.tables import MEASURED, Column, Row, Table, compared, target_row
from trimtab.evaluation.runs.pairs import compare, spread_column

PROFILER = "cupti_activity"
# Conditions of RUNS, in the order of the table, and the traced objects.
_TRACED = {
    "traced_kernels": "kernels",
    "traced_functions": "functions",
    "traced": "functions and kernels",
    "traced_files": "files",
    PROFILER: "every GPU activity, by CUPTI",
}


class DebloatingTime(TargetSection):
    """The duration of each step of debloating, and the overhead of tracing each workload."""

    order = 500
    chapter = EFFORT

    def make_tables(self) -> Iterator[Table]:
        """A row for each target, and a row for each workload and kind of tracing."""
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
        yield compared(
            "tracing",
            "The cost of tracing",
            "Run time of a traced run by the run time of an original run, and by that of a run "
            "with every GPU activity recorded by CUPTI, which stands for a profiler. The median "
            "of the pairs; below it the smallest and the largest. A negative value is time "
            "saved.",
            (
                Column("condition", "Condition", in_report=False),
                Column("traced", "Traced"),
                Column("pairs", "Pairs", 0),
                Column("original_s", "Original, s", 2),
                Column("wall_s", "Traced, s", 2),
                spread_column("wall_overhead", "over original, %"),
                spread_column("over_profiler", "over profiler, %"),
            ),
            [row for profile in self.measurements.profiles for row in _rows(profile)],
            who=(Column("name", "Workload"),),
        )

    def metrics(self) -> Mapping[str, Any]:
        """Return the times of each target."""
        return {"targets": self.tables[0].by_row("name")}


def _rows(profile: WorkloadProfile) -> Iterator[Row]:
    for condition, traced in _TRACED.items():
        over_original = compare(profile.runs, "wall_s", condition)
        if over_original is None:
            continue
        over_profiler = None
        if condition != PROFILER:
            over_profiler = compare(profile.runs, "wall_s", condition, base=PROFILER)
        yield {
            "name": profile.workload,
            "hardware": profile.hardware,
            "condition": condition,
            "traced": traced,
            "pairs": over_original.pairs,
            "original_s": over_original.original,
            "wall_s": over_original.other,
            **over_original.increase("wall_overhead"),
            **(over_profiler.increase("over_profiler") if over_profiler else {}),
            "source": MEASURED,
        }
