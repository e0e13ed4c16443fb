"""Tables 2 and 3 of the paper for CPU code, the sizes, and what became of each library."""

import pandas as pd

from trimtab.evaluation.inputs import Measurements, Target
from trimtab.evaluation.tables import (
    HARDWARE_COLUMN,
    MB,
    MEASURED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    Value,
    published_rows,
    reduction_pct,
)

_SIZE_COLUMNS = (
    Column("file_size_mb", "File size, MB", 1),
    Column("file_size_reduction_pct", "less, %", 1),
    Column("cpu_code_mb", "CPU code, MB", 1),
    Column("cpu_code_reduction_pct", "less, %", 1),
    Column("functions", "Functions", 0),
    Column("functions_reduction_pct", "less, %", 1),
)
_PUBLISHED_SIZES = (
    "The published file sizes include GPU code, so that only the columns of CPU code compare "
    "directly. MB are 10⁶ bytes."
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
            **_sizes(target.libraries),
            "source": MEASURED,
        }
        for target in measurements.targets
    ]
    return Table(
        "table_2",
        "All shared libraries (Table 2)",
        "Original totals over every shared library that the workloads of the target load from the "
        "environment, and by how much debloating lowered them. File size is what the file system "
        f"allocates; CPU code is the bytes of all functions. {_PUBLISHED_SIZES}",
        (
            Column("name", "Target"),
            HARDWARE_COLUMN,
            Column("libraries", "Libraries", 0),
            Column("libraries_debloated", "of them debloated", 0),
            *_SIZE_COLUMNS,
            *SOURCE_COLUMNS,
        ),
        (*rows, *published_rows("table_2")),
    )


def table_3(measurements: Measurements) -> Table:
    """Return Table 3: the same figures for the largest shared library of each target."""
    rows: list[Row] = []
    for target in measurements.targets:
        largest = target.libraries.nlargest(1, "size_before_bytes")
        rows.append(
            {
                "name": target.label,
                "hardware": target.hardware,
                "library": str(largest["library"].iloc[0]),
                **_sizes(largest),
                "source": MEASURED,
            }
        )
    return Table(
        "table_3",
        "The largest shared library (Table 3)",
        f"The largest library of each target. {_PUBLISHED_SIZES}",
        (
            Column("name", "Target"),
            HARDWARE_COLUMN,
            Column("library", "Library"),
            *_SIZE_COLUMNS,
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
                    **_sizes(one),
                    "saved_mb": float(library["saved_bytes"]) / MB,
                    "compressed_reduction_pct": _reduction(one, "compressed_before_bytes"),
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
            *(
                Column(column.key, column.heading, 2) if column.key.endswith("_mb") else column
                for column in _SIZE_COLUMNS
            ),
            Column("compressed_reduction_pct", "compressed less, %", 1),
            Column("debloated", "Debloated"),
            Column("reason", "Why not"),
        ),
        tuple(rows),
    )


def by_reduction(libraries: pd.DataFrame) -> pd.DataFrame:
    """Return LIBRARIES with a column `saved_bytes`, the most saved in the file system first."""
    saved = libraries["disk_before_bytes"] - libraries["disk_after_bytes"]
    return libraries.assign(saved_bytes=saved).sort_values(
        ["saved_bytes", "library"], ascending=[False, True]
    )


def _sizes(frame: pd.DataFrame) -> dict[str, Value]:
    return {
        "file_size_mb": float(frame["disk_before_bytes"].sum()) / MB,
        "file_size_reduction_pct": _reduction(frame, "disk_before_bytes"),
        "cpu_code_mb": float(frame["function_bytes_before"].sum()) / MB,
        "cpu_code_reduction_pct": _reduction(frame, "function_bytes_before"),
        "functions": int(frame["functions_before"].sum()),
        "functions_reduction_pct": _reduction(frame, "functions_before"),
    }


def _reduction(frame: pd.DataFrame, before: str) -> float | None:
    after = before.replace("before", "after")
    return reduction_pct(float(frame[before].sum()), float(frame[after].sum()))


def _size_row(target: Target, kind: str, scope: str, before: int, after: int) -> Row:
    return {
        "name": target.label,
        "kind": kind,
        "scope": scope,
        "before_mb": before / MB,
        "after_mb": after / MB,
        "reduction_pct": reduction_pct(before, after),
        "source": MEASURED,
    }
