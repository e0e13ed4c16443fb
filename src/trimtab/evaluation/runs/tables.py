"""Tables 5 and 8 of the paper, and the epochs with their energy."""

from collections.abc import Iterable
from typing import cast

import pandas as pd

from trimtab.evaluation.inputs.measurements import DebloatedTarget, Measurements
from trimtab.evaluation.inputs.read import TIMINGS
from trimtab.evaluation.libraries.sizes import NO_GPU_CODE
from trimtab.evaluation.report.tables import (
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
    published_rows,
)
from trimtab.evaluation.runs.pairs import compare

# Key in the table: column of RUNS, heading, what divides it, digits shown.
_QUANTITIES = {
    "peak_memory_mb": ("peak_rss_bytes", "Peak CPU memory, MB", MB, 1),
    "peak_gpu_memory_mb": ("peak_gpu_memory_bytes", "Peak GPU memory, MB", MB, 1),
    "wall_s": ("wall_s", "Run time, s", 1.0, 2),
    "start_up_s": ("start_up_s", "Start-up, s", 1.0, 2),
    "energy_j": ("energy_j", "Energy, J", 1.0, 1),
}


def _with_reduction(key: str, heading: str, decimals: int) -> Iterable[Column]:
    stem = _stem(key)
    spread = (f"{stem}_reduction_low_pct", f"{stem}_reduction_high_pct")
    yield Column(key, heading, decimals)
    yield Column(f"{stem}_reduction_pct", "less, %", 1, spread)


def _stem(key: str) -> str:
    return key.rsplit("_", 1)[0]


RUN_COLUMNS = (
    Column("pairs", "Pairs", 0),
    *(
        column
        for key, (_, heading, _, decimals) in _QUANTITIES.items()
        for column in _with_reduction(key, heading, decimals)
    ),
    Column("energy_source", "Energy is"),
)
RUNS_MEANING = (
    "Original: the median over the interleaved pairs of an original and a debloated run. Less: the "
    "median of the pairs' reductions, and below it the smallest and the largest; a negative "
    "reduction is an increase."
)


def table_5(measurements: Measurements) -> Table:
    """Return Table 5: memory, time, start-up and energy of the interleaved runs of each target."""
    rows = [
        run_row(target, workload)
        for target in measurements.targets
        for workload in target.workloads
    ]
    no_gpu = "" if measurements.have_gpu_code else f" {NO_GPU_CODE}"
    return Table(
        "table_5",
        "Run-time performance (Table 5)",
        f"{RUNS_MEANING} The published values are means of ten runs, with a standard deviation "
        f"below 2 %, on a GPU machine.{no_gpu}",
        (
            Column("name", "Workload"),
            target_column(rows),
            HARDWARE_COLUMN,
            *RUN_COLUMNS,
            *SOURCE_COLUMNS,
        ),
        (*rows, *published_rows("table_5")),
    )


def target_column(rows: Iterable[Row]) -> Column:
    """Return the column of targets; the report needs it where they have names of their own."""
    return Column("target", "Target", in_report=any(row["target"] != row["name"] for row in rows))


def run_row(target: DebloatedTarget, workload: str) -> dict[str, Value]:
    """Return RUN_COLUMNS of one workload's interleaved runs; unknown quantities are left out."""
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
    row["energy_source"] = energy_source(runs["energy_source"]) if "energy_j" in row else None
    row["source"] = MEASURED
    return row


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
        "the environment comes on top. The published times include GPU code"
        f"{'.' if measurements.have_gpu_code else ', of which there is none here.'}",
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


def _joined(texts: "pd.Series[str]") -> str:
    return ", ".join(sorted(set(texts.dropna())))
