"""Tables 2 and 3 of the paper, the sizes, and what became of each library."""

from dataclasses import replace

import pandas as pd

from trimtab.evaluation.inputs.measurements import DebloatedTarget, Measurements
from trimtab.evaluation.libraries.core_library import core_library
from trimtab.evaluation.libraries.sizes import (
    GPU_SIZE_COLUMNS,
    REASON_COLUMNS,
    SIZE_COLUMNS,
    reduction_of,
    sizes,
    sizes_meaning,
)
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MB,
    MEASURED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    published_rows,
    reduction_pct,
)

_SIZE_KINDS = {
    "file length": ("size_before_bytes", "size_after_bytes"),
    "file system": ("disk_before_bytes", "disk_after_bytes"),
    "compressed (zstd)": ("compressed_before_bytes", "compressed_after_bytes"),
}


def table_2(measurements: Measurements) -> Table:
    """Return Table 2: all shared libraries of each target together, before, and the reduction."""
    rows: list[Row] = [
        {
            "name": target.label,
            "hardware": target.hardware,
            "libraries": len(target.libraries),
            "libraries_debloated": int(target.libraries["debloated"].sum()),
            **sizes(target.libraries),
            "source": MEASURED,
        }
        for target in measurements.targets
    ]
    return Table(
        "table_2",
        "All shared libraries (Table 2)",
        "Original totals over every shared library that the workloads of the target load from the "
        f"environment, and by how much debloating lowered them. {sizes_meaning(measurements)}",
        (
            Column("name", "Target"),
            HARDWARE_COLUMN,
            Column("libraries", "Libraries", 0),
            Column("libraries_debloated", "of them debloated", 0),
            *SIZE_COLUMNS,
            *REASON_COLUMNS,
            *SOURCE_COLUMNS,
        ),
        (*rows, *published_rows("table_2")),
    )


def table_3(measurements: Measurements) -> Table:
    """Return Table 3: the same figures for the core library of each target's framework."""
    rows: list[Row] = []
    for target in measurements.targets:
        core = core_library(target)
        rows.append(
            {
                "name": target.label,
                "hardware": target.hardware,
                "library": str(core["library"].iloc[0]),
                **sizes(core),
                "source": MEASURED,
            }
        )
    return Table(
        "table_3",
        "The core shared library (Table 3)",
        "The library that holds the framework's own code; for an unknown framework the largest. "
        f"{sizes_meaning(measurements)}",
        (
            Column("name", "Target"),
            HARDWARE_COLUMN,
            Column("library", "Library"),
            *SIZE_COLUMNS,
            *SOURCE_COLUMNS,
        ),
        (*rows, *published_rows("table_3")),
    )


def size_table(measurements: Measurements) -> Table:
    """Return the sizes before and after: file length, file system, compressed and resident."""
    rows: list[Row] = []
    for target in measurements.targets:
        debloated = target.libraries[target.libraries["debloated"]]
        for scope, frame in (("all libraries", target.libraries), ("debloated", debloated)):
            for kind, (before, after) in _SIZE_KINDS.items():
                rows.append(
                    _size_row(
                        target, kind, scope, int(frame[before].sum()), int(frame[after].sum())
                    )
                )
        for workload, resident in target.verify.get("resident_bytes", {}).items():
            rows.append(
                _size_row(
                    target,
                    "resident",
                    str(workload),
                    int(resident["original"]),
                    int(resident["debloated"]),
                )
            )
    return Table(
        "sizes",
        "Sizes before and after",
        "File length is what a listing shows, file system what is allocated (holes take nothing), "
        "compressed what an image layer of the libraries takes, and resident the pages of the "
        "libraries that a run holds in memory.",
        (
            Column("name", "Target"),
            Column("kind", "Size"),
            Column("scope", "Over"),
            Column("before_mb", "Before, MB", 1),
            Column("after_mb", "After, MB", 1),
            Column("reduction_pct", "Less, %", 1),
            Column("source", "Source"),
        ),
        tuple(rows),
    )


def library_table(measurements: Measurements) -> Table:
    """Return every library of every target, the one that lost most first."""
    rows: list[Row] = []
    for target in measurements.targets:
        for rank, (_, library) in enumerate(by_reduction(target.libraries).iterrows(), start=1):
            one = library.to_frame().T.infer_objects()
            rows.append(
                {
                    "name": target.label,
                    "rank": rank,
                    "library": str(library["library"]),
                    **sizes(one),
                    "saved_mb": float(library["saved_bytes"]) / MB,
                    "compressed_reduction_pct": reduction_of(one, "compressed_before_bytes"),
                    "debloated": bool(library["debloated"]),
                    "reason": str(library["reason"] or ""),
                }
            )
    return Table(
        "libraries",
        "Library by library",
        "The library that lost most in the file system comes first; the rank is that of the "
        "Pareto chart. A library that was left alone says why.",
        (
            Column("name", "Target", in_report=False),
            Column("rank", "Rank", 0),
            Column("library", "Library"),
            Column("saved_mb", "Saved, MB", 2),
            *(_of_one_library(column, measurements.have_gpu_code) for column in SIZE_COLUMNS),
            *REASON_COLUMNS,
            Column("compressed_reduction_pct", "compressed less, %", 1),
            Column("debloated", "Debloated"),
            Column("reason", "Why not"),
        ),
        tuple(rows),
    )


def _of_one_library(column: Column, have_gpu_code: bool) -> Column:
    """Return a column of sizes with more digits, of GPU code only where there is any."""
    return replace(
        column,
        decimals=2 if column.key.endswith("_mb") else column.decimals,
        in_report=have_gpu_code or column not in GPU_SIZE_COLUMNS,
    )


def by_reduction(libraries: pd.DataFrame) -> pd.DataFrame:
    """Return LIBRARIES with a column `saved_bytes`, the most saved in the file system first."""
    saved = libraries["disk_before_bytes"] - libraries["disk_after_bytes"]
    return libraries.assign(saved_bytes=saved).sort_values(
        ["saved_bytes", "library"], ascending=[False, True]
    )


def _size_row(target: DebloatedTarget, kind: str, scope: str, before: int, after: int) -> Row:
    return {
        "name": target.label,
        "kind": kind,
        "scope": scope,
        "before_mb": before / MB,
        "after_mb": after / MB,
        "reduction_pct": reduction_pct(before, after),
        "source": MEASURED,
    }
