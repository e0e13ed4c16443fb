"""Azure Functions, invocations of two weeks in January 2021.

https://github.com/Azure/AzurePublicDataset/blob/master/AzureFunctionsInvocationTrace2021.md: one
row an invocation: app, func, end_timestamp (s), duration (s), with a header.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa

from trimtab.traces.formats.csv_table import read_csv
from trimtab.traces.jobs import jobs_frame

_EXPECTED = "AzureFunctionsInvocationTraceForTwoWeeksJan2021.txt: app,func,end_timestamp,duration"
_TYPES = {"end_timestamp": pa.float64(), "duration": pa.float64()}


def read(
    path: Path, skipped: Counter[str], cpu_milli: int, memory_bytes: int
) -> Iterator[pd.DataFrame]:
    """Yield the invocations, of priority 0.

    An invocation arrives its duration before its end. The trace has no demands: `cpu_milli` and
    `memory_bytes` are for one invocation. Raises UserError with the file, missing columns, or the
    row.
    """
    for frame in read_csv(path, _TYPES, _EXPECTED):
        yield jobs_frame(
            arrival_s=frame["end_timestamp"] - frame["duration"],
            work_s=frame["duration"],
            cpu_milli=cpu_milli,
            memory_bytes=memory_bytes,
        )
