"""Every table that passes between stages: its columns, types and units.

A column's name ends in its unit (`_s`, `_bytes`, `_j`, `_w`); counts carry none. Readers and
writers of Parquet go through `read_table` and `write_table`, which refuse a table whose columns
are not those listed here. JSON documents are described where they are made.
"""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from trimtab.errors import TrimtabError
from trimtab.files import whole_file

_text, _int, _float, _bool = pa.string(), pa.int64(), pa.float64(), pa.bool_()

_OS_COUNTERS = [
    ("cpu_s", _float),  # user and system time of every process of the run
    ("minor_faults", _int),
    ("major_faults", _int),
    ("voluntary_switches", _int),
    ("involuntary_switches", _int),
    ("read_bytes", _int),  # fetched from storage, not from the page cache
    ("write_bytes", _int),
]

_ENERGY = [
    ("energy_j", _float),
    ("energy_low_j", _float),  # the interval's ends; equal to energy_j for a meter without error
    ("energy_high_j", _float),
    ("energy_source", _text),  # measured | modelled | unknown (then the joules are null)
    ("energy_method", _text),  # e.g. "rapl", "nvml+rapl", "power model"
]

# One row a run of a workload.
RUNS = pa.schema(
    [
        ("workload", _text),
        ("hardware", _text),
        ("condition", _text),  # original | debloated | traced_functions | traced_files
        ("repeat", _int),  # 0, 1, ...: runs of equal `repeat` were interleaved
        ("exit_code", _int),
        ("wall_s", _float),
        ("start_up_s", _float),  # process start to the workload's first iteration; may be null
        ("peak_rss_bytes", _int),  # highest sum of resident memory over the processes
        ("peak_gpu_memory_bytes", _int),  # null without a GPU
        *_OS_COUNTERS,
        *_ENERGY,
        ("output_digest", _text),  # SHA-256 of what the workload's YAML compares
    ]
)

# One row an epoch of a run.
EPOCHS = pa.schema(
    [
        ("workload", _text),
        ("hardware", _text),
        ("condition", _text),
        ("repeat", _int),
        ("epoch", _int),
        ("start_s", _float),  # since the run's start
        ("duration_s", _float),
        *_OS_COUNTERS,
        ("cycles", _float),  # hardware counters are null where the machine has none;
        ("instructions", _float),  # scaled by time enabled / time running
        ("cache_references", _float),
        ("cache_misses", _float),
        ("branches", _float),
        ("branch_misses", _float),
        ("counters_running_share", _float),  # time running / time enabled, 0 to 1
        *_ENERGY,
    ]
)

# One row a shared library of a debloated environment.
LIBRARIES = pa.schema(
    [
        ("target", _text),
        ("hardware", _text),
        ("library", _text),  # path relative to the environment
        ("build_id", _text),  # hexadecimal; null where the library has none
        ("debloated", _bool),
        ("reason", _text),  # why not debloated, or empty
        ("size_before_bytes", _int),
        ("size_after_bytes", _int),
        ("disk_before_bytes", _int),  # blocks allocated in the file system
        ("disk_after_bytes", _int),
        ("compressed_before_bytes", _int),  # zstd
        ("compressed_after_bytes", _int),
        ("functions_before", _int),
        ("functions_after", _int),
        ("function_bytes_before", _int),
        ("function_bytes_after", _int),
        ("gpu_bytes_before", _int),  # of the elements and bare frames of GPU code, with headers
        ("gpu_bytes_after", _int),
        ("elements_before", _int),
        ("elements_after", _int),
        ("elements_architecture", _int),  # removed, Reason I: no GPU of the target can load it
        ("elements_unused", _int),  # removed, Reason II: it fits a GPU, but no kernel was used
        ("elements_ptx", _int),  # removed, Reason III: PTX that no GPU of the target needs
        ("kept_bytes", _int),  # kept + removed = size before
        ("removed_bytes", _int),
        ("overhead_bytes", _int),  # kept + overhead = size after
    ]
)


def write_table(path: Path, schema: pa.Schema, frame: pd.DataFrame) -> None:
    """Write `frame` as Parquet with exactly the columns of `schema`.

    Raises TrimtabError when columns are missing, unknown or of another type.
    """
    unknown, missing = set(frame.columns) - set(schema.names), set(schema.names) - set(frame)
    if unknown or missing:
        raise TrimtabError(f"{path}: missing columns {sorted(missing)}, unknown {sorted(unknown)}")
    try:
        table = pa.Table.from_pandas(frame[schema.names], schema, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TrimtabError(f"{path}: {error}") from None
    with whole_file(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def read_table(path: Path, schema: pa.Schema) -> pd.DataFrame:
    """Return the Parquet file at `path` after checking it against `schema`.

    Raises TrimtabError when the file holds other columns, as an older version's would.
    """
    table = pq.read_table(path)
    if table.schema.names != schema.names:
        raise TrimtabError(f"{path}: columns {table.schema.names}, expected {schema.names}")
    frame: pd.DataFrame = table.cast(schema).to_pandas()
    return frame
