"""What tracing costs a run: beside no tracing, and beside a profiler."""

from collections.abc import Iterator

from trimtab.evaluation.inputs.measurements import Profile
from trimtab.evaluation.report.chapters import EFFORT
from trimtab.evaluation.report.compared import compared
from trimtab.evaluation.report.section import TargetSection
from trimtab.evaluation.report.tables import MEASURED, Column, Row, Table, Value
from trimtab.evaluation.runs.pairs import Comparison, compare

PROFILER = "cupti_activity"
# Conditions of RUNS, in the order of the table, and what was traced in them.
_TRACED = {
    "traced_kernels": "kernels",
    "traced_functions": "functions",
    "traced": "functions and kernels",
    "traced_files": "files",
    PROFILER: "every GPU activity, by CUPTI",
}


class Tracing(TargetSection):
    """The run time of each workload traced, over its original and its profiled runs."""

    order = 510
    chapter = EFFORT

    def make_tables(self) -> Iterator[Table]:
        """A row for each workload and way of tracing."""
        yield compared(
            "tracing",
            "The cost of tracing",
            "Run time of a traced run over that of an original run, and over that of a run whose "
            "every GPU activity CUPTI records, the stand-in for a profiler: the median of the "
            "pairs, and below it the smallest and the largest. A negative value is time saved.",
            (
                Column("condition", "Condition", in_report=False),
                Column("traced", "Traced"),
                Column("pairs", "Pairs", 0),
                Column("original_s", "Original, s", 2),
                Column("wall_s", "Traced, s", 2),
                _more_column("wall_overhead", "over original, %"),
                _more_column("over_profiler", "over profiler, %"),
            ),
            [row for profile in self.measurements.profiles for row in _rows(profile)],
            who=(Column("name", "Workload"),),
        )


def _rows(profile: Profile) -> Iterator[Row]:
    for condition, traced in _TRACED.items():
        over_original = compare(profile.runs, "wall_s", condition)
        if over_original is None:
            continue
        over_profiler = (
            compare(profile.runs, "wall_s", condition, base=PROFILER)
            if condition != PROFILER
            else None
        )
        yield {
            "name": profile.workload,
            "hardware": profile.hardware,
            "condition": condition,
            "traced": traced,
            "pairs": over_original.pairs,
            "original_s": over_original.original,
            "wall_s": over_original.other,
            **_more("wall_overhead", over_original),
            **_more("over_profiler", over_profiler),
            "source": MEASURED,
        }


def _more_column(stem: str, heading: str) -> Column:
    return Column(f"{stem}_pct", heading, 1, (f"{stem}_low_pct", f"{stem}_high_pct"))


def _more(stem: str, comparison: Comparison | None) -> dict[str, Value]:
    if comparison is None:
        return {}
    return {
        f"{stem}_pct": 100 * (comparison.ratio - 1),
        f"{stem}_low_pct": 100 * (comparison.ratio_low - 1),
        f"{stem}_high_pct": 100 * (comparison.ratio_high - 1),
    }
