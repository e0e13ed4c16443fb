"""What tracing costs a run (Section 4.6): beside no tracing, and beside a profiler."""

from trimtab.evaluation.inputs.measurements import Measurements
from trimtab.evaluation.report.published import published
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MEASURED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    Value,
    published_row,
)
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


def tracing_table(measurements: Measurements) -> Table:
    """Return the run time of each workload traced, over its original and its profiled runs."""
    rows: list[Row] = []
    for profile in measurements.profiles:
        for condition, traced in _TRACED.items():
            over_original = compare(profile.runs, "wall_s", condition)
            if over_original is None:
                continue
            over_profiler = (
                compare(profile.runs, "wall_s", condition, base=PROFILER)
                if condition != PROFILER
                else None
            )
            rows.append(
                {
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
            )
    others = [entry for entry in published("statements") if "wall_overhead_pct" in entry.values]
    return Table(
        "tracing",
        "The cost of tracing (Section 4.6)",
        "Run time of a traced run over that of an original run, and over that of a run whose every "
        "GPU activity CUPTI records, the stand-in for a profiler: the median of the pairs, and "
        "below it the smallest and the largest. A negative value is time saved.",
        (
            Column("name", "Workload"),
            HARDWARE_COLUMN,
            Column("condition", "Condition", in_report=False),
            Column("traced", "Traced"),
            Column("pairs", "Pairs", 0),
            Column("original_s", "Original, s", 2),
            Column("wall_s", "Traced, s", 2),
            _more_column("wall_overhead", "over original, %"),
            _more_column("over_profiler", "over profiler, %"),
            *SOURCE_COLUMNS,
        ),
        (*rows, *(published_row(entry) for entry in others)),
    )


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
