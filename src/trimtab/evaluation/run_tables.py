"""Tables 5 and 8 of the paper, the cost of tracing, and the epochs with their energy."""

from collections.abc import Iterable
from typing import cast

import pandas as pd

from trimtab.evaluation.inputs import TIMINGS, Measurements
from trimtab.evaluation.pairs import ORIGINAL, compare
from trimtab.evaluation.published import published
from trimtab.evaluation.tables import (
    HARDWARE_COLUMN,
    MB,
    MEASURED,
    MODELLED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    Value,
    number,
    published_row,
    published_rows,
)

# Key in the table: column of RUNS, heading, what divides it, digits shown.
_QUANTITIES = {
    "peak_memory_mb": ("peak_rss_bytes", "Peak CPU memory, MB", MB, 1),
    "wall_s": ("wall_s", "Run time, s", 1.0, 2),
    "start_up_s": ("start_up_s", "Start-up, s", 1.0, 2),
    "energy_j": ("energy_j", "Energy, J", 1.0, 1),
}


def table_5(measurements: Measurements) -> Table:
    """Return Table 5: memory, time, start-up and energy of the interleaved runs of each target."""
    rows: list[Row] = []
    for target in measurements.targets:
        for workload in target.workloads:
            runs = target.runs[target.runs["workload"] == workload]
            row: dict[str, Value] = {
                "name": workload,
                "target": target.label,
                "hardware": target.hardware,
                "pairs": 0,
            }
            for key, (column, _, divisor, _) in _QUANTITIES.items():
                comparison = compare(runs, column)
                if comparison is None:
                    continue
                stem = _stem(key)
                row["pairs"] = max(int(row["pairs"] or 0), comparison.pairs)
                row[key] = comparison.original / divisor
                row[f"{stem}_reduction_pct"] = comparison.reduction_pct
                row[f"{stem}_reduction_low_pct"] = comparison.reduction_low_pct
                row[f"{stem}_reduction_high_pct"] = comparison.reduction_high_pct
            row["energy_source"] = (
                energy_source(runs["energy_source"]) if "energy_j" in row else None
            )
            row["source"] = MEASURED
            rows.append(row)
    quantities = [
        column
        for key, (_, heading, _, decimals) in _QUANTITIES.items()
        for column in _with_reduction(key, heading, decimals)
    ]
    return Table(
        "table_5",
        "Run-time performance (Table 5)",
        "Original: the median over the interleaved pairs of an original and a debloated run. "
        "Less: the median of the pairs' reductions, and below it the smallest and the largest; a "
        "negative reduction is an increase. The published values are means of ten runs, with a "
        "standard deviation below 2 %, on a GPU machine.",
        (
            Column("name", "Workload"),
            Column("target", "Target"),
            HARDWARE_COLUMN,
            Column("pairs", "Pairs", 0),
            *quantities,
            Column("energy_source", "Energy is"),
            *SOURCE_COLUMNS,
        ),
        (*rows, *published_rows("table_5")),
    )


def table_8(measurements: Measurements) -> Table:
    """Return Table 8: the time from the traced run to the slim libraries of each target."""
    rows: list[Row] = []
    for target in measurements.targets:
        timings = {key: float(target.manifest["timings"][key]) for key in TIMINGS}
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
    return Table(
        "table_8",
        "Time to debloat, end to end (Table 8)",
        "From the traced run to the slim libraries, as published. Trace: the traced runs of the "
        "workloads. Locate: which spans are kept. Rewrite: the new libraries. Copying the rest of "
        "the environment comes on top. The published times include GPU code.",
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
        (*rows, *published_rows("table_8")),
    )


def tracing_table(measurements: Measurements) -> Table:
    """Return what tracing cost: runs of each workload traced, beside the original ones."""
    rows: list[Row] = []
    for profile in measurements.profiles:
        traced = sorted(set(profile.runs["condition"]) - {ORIGINAL, "debloated"})
        for condition in traced:
            comparison = compare(profile.runs, "wall_s", condition)
            if comparison is None:
                continue
            rows.append(
                {
                    "name": profile.workload,
                    "hardware": profile.hardware,
                    "condition": condition,
                    "pairs": comparison.pairs,
                    "original_s": comparison.original,
                    "wall_s": comparison.other,
                    "wall_overhead_pct": 100 * (comparison.ratio - 1),
                    "wall_overhead_low_pct": 100 * (comparison.ratio_low - 1),
                    "wall_overhead_high_pct": 100 * (comparison.ratio_high - 1),
                    "source": MEASURED,
                }
            )
    others = [entry for entry in published("statements") if "wall_overhead_pct" in entry.values]
    return Table(
        "tracing",
        "The cost of tracing (Section 4.6)",
        "Run time of a traced run over that of an original run: the median of the pairs, and below "
        "it the smallest and the largest. The published tracers watch GPU kernels.",
        (
            Column("name", "Workload"),
            HARDWARE_COLUMN,
            Column("condition", "Traced"),
            Column("pairs", "Pairs", 0),
            Column("original_s", "Original, s", 2),
            Column("wall_s", "Traced, s", 2),
            Column(
                "wall_overhead_pct",
                "More, %",
                1,
                ("wall_overhead_low_pct", "wall_overhead_high_pct"),
            ),
            *SOURCE_COLUMNS,
        ),
        (*rows, *(published_row(entry) for entry in others)),
    )


def epoch_table(measurements: Measurements) -> Table:
    """Return duration, processor time and energy of each epoch: medians over the repeats."""
    rows: list[Row] = []
    for profile in measurements.profiles:
        for key, frame in profile.epochs.groupby(["condition", "epoch"]):
            condition, epoch = cast(tuple[str, int], key)
            median = {
                quantity: number(frame[quantity].median())
                for quantity in ("duration_s", "cpu_s", "energy_j", "energy_low_j", "energy_high_j")
            }
            known = median["energy_j"] is not None
            rows.append(
                {
                    "name": profile.workload,
                    "hardware": profile.hardware,
                    "condition": condition,
                    "epoch": int(epoch),
                    "repeats": len(frame),
                    **median,
                    "energy_source": energy_source(frame["energy_source"]) if known else None,
                    "energy_method": _joined(frame["energy_method"]) if known else None,
                }
            )
    return Table(
        "epochs",
        "Epochs and energy",
        "Medians over the repeats of each profiled workload. The energy's interval stands below "
        "it: its width says how sure the meter or the model is.",
        (
            Column("name", "Workload"),
            HARDWARE_COLUMN,
            Column("condition", "Condition"),
            Column("epoch", "Epoch", 0),
            Column("repeats", "Repeats", 0),
            Column("duration_s", "Duration, s", 2),
            Column("cpu_s", "CPU time, s", 2),
            Column("energy_j", "Energy, J", 1, ("energy_low_j", "energy_high_j")),
            Column("energy_source", "Energy is"),
            Column("energy_method", "By"),
        ),
        tuple(rows),
    )


def energy_source(sources: "pd.Series[str]") -> str:
    """Return `measured` only where every joule was; one modelled run makes a figure modelled."""
    return MEASURED if set(sources.dropna()) == {MEASURED} else MODELLED


def _with_reduction(key: str, heading: str, decimals: int) -> Iterable[Column]:
    stem = _stem(key)
    spread = (f"{stem}_reduction_low_pct", f"{stem}_reduction_high_pct")
    yield Column(key, heading, decimals)
    yield Column(f"{stem}_reduction_pct", "less, %", 1, spread)


def _stem(key: str) -> str:
    return key.rsplit("_", 1)[0]


def _joined(texts: "pd.Series[str]") -> str:
    return ", ".join(sorted(set(texts.dropna())))
