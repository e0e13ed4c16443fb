"""The common columns of tables of libraries: files, CPU code and GPU code, before and less."""

import pandas as pd

from trimtab.evaluation.inputs.measurements import DebloatedTarget, Measurements
from trimtab.evaluation.report.tables import MB, Column, Value, reduction_pct

GPU_SIZE_COLUMNS = (
    Column("gpu_code_mb", "GPU code, MB", 1),
    Column("gpu_code_reduction_pct", "less, %", 1),
    Column("elements", "Elements", 0),
    Column("elements_reduction_pct", "less, %", 1),
)
SIZE_COLUMNS = (
    Column("file_size_mb", "File size, MB", 1),
    Column("file_size_reduction_pct", "less, %", 1),
    Column("cpu_code_mb", "CPU code, MB", 1),
    Column("cpu_code_reduction_pct", "less, %", 1),
    Column("functions", "Functions", 0),
    Column("functions_reduction_pct", "less, %", 1),
    *GPU_SIZE_COLUMNS,
)
# The reasons of removal of elements.
REASON_COLUMNS = (
    Column("elements_architecture", "Reason I", 0, in_report=False),
    Column("elements_unused", "Reason II", 0, in_report=False),
    Column("elements_ptx", "Reason III", 0, in_report=False),
)
_GPU_KEYS = tuple(column.key for column in (*GPU_SIZE_COLUMNS, *REASON_COLUMNS))
NO_GPU_CODE = "No GPU code in this environment."
_MEANING = (
    "File size is the allocated size in the file system, CPU code the bytes of all functions, "
    "GPU code the bytes of all elements. MB are 10⁶ bytes."
)
_NOT_COMPARABLE = (
    f"{NO_GPU_CODE} The published file sizes include GPU code, so that only the columns of CPU "
    "code compare directly."
)


def sizes_meaning(measurements: Measurements) -> str:
    """Return the columns' meaning, and which of them are comparable with published values."""
    return _MEANING if measurements.have_gpu_code else f"{_MEANING} {_NOT_COMPARABLE}"


def libraries_and_sizes(target: DebloatedTarget) -> dict[str, Value]:
    """Return the number of a target's libraries, of debloated ones, and their `sizes`."""
    return {
        "libraries": len(target.libraries),
        "libraries_debloated": int(target.libraries["debloated"].sum()),
        **sizes(target.libraries),
    }


def sizes(frame: pd.DataFrame) -> dict[str, Value]:
    """Return SIZE_COLUMNS and REASON_COLUMNS over the libraries in `frame` (LIBRARIES).

    Without GPU code its values are None, as nothing could have been removed.
    """
    cpu: dict[str, Value] = {
        "file_size_mb": float(frame["disk_before_bytes"].sum()) / MB,
        "file_size_reduction_pct": reduction_of(frame, "disk_before_bytes"),
        "cpu_code_mb": float(frame["function_bytes_before"].sum()) / MB,
        "cpu_code_reduction_pct": reduction_of(frame, "function_bytes_before"),
        "functions": int(frame["functions_before"].sum()),
        "functions_reduction_pct": reduction_of(frame, "functions_before"),
    }
    gpu_bytes = int(frame["gpu_bytes_before"].sum())
    if not gpu_bytes:
        return cpu | dict.fromkeys(_GPU_KEYS)
    return cpu | {
        "gpu_code_mb": gpu_bytes / MB,
        "gpu_code_reduction_pct": reduction_of(frame, "gpu_bytes_before"),
        "elements": int(frame["elements_before"].sum()),
        "elements_reduction_pct": reduction_of(frame, "elements_before"),
        **{column.key: int(frame[column.key].sum()) for column in REASON_COLUMNS},
    }


def compressed_sizes(target: DebloatedTarget) -> dict[str, Value]:
    """Return its environment's compressed size, before and after; empty if not measured."""
    found = target.compressed
    if found is None:
        return {}
    return {
        "compressed_before_mb": found.before_bytes / MB,
        "compressed_after_mb": found.after_bytes / MB,
    }


def reduction_of(frame: pd.DataFrame, before: str) -> float | None:
    """Return the reduction of the sum of column `before` in per cent; None where it was 0."""
    after = before.replace("before", "after")
    return reduction_pct(float(frame[before].sum()), float(frame[after].sum()))
