"""Azure Functions, invocations of two weeks in January 2021.

https://github.com/Azure/AzurePublicDataset/blob/master/AzureFunctionsInvocationTrace2021.md: one
row an invocation: app, func, end_timestamp (s), duration (s), with a header.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa

from trimtab.traces.arrival_order import sorted_by_arrival
from trimtab.traces.formats.csv_table import read_csv
from trimtab.traces.jobs import as_trace, jobs_frame, usable

_EXPECTED = "AzureFunctionsInvocationTraceForTwoWeeksJan2021.txt: app,func,end_timestamp,duration"
_TYPES = {"end_timestamp": pa.float64(), "duration": pa.float64()}


def read_azure_functions_2021(
    path: Path, skipped: Counter[str], cpu_milli: int, memory_bytes: int
) -> Iterator[pd.DataFrame]:
    """Yield the invocations as chunks of tables.TRACE, of priority 0.

    An invocation arrives its duration before its end. The trace has no demands: `cpu_milli` and
    `memory_bytes` are those of one invocation. Raises UserError that names the file, missing
    columns, or the row.
    """

    def invocations() -> Iterator[pd.DataFrame]:
        for frame in read_csv(path, _TYPES, _EXPECTED):
            yield jobs_frame(
                arrival_s=frame["end_timestamp"] - frame["duration"],
                work_s=frame["duration"],
                cpu_milli=cpu_milli,
                memory_bytes=memory_bytes,
            )

    yield from as_trace(sorted_by_arrival(usable(invocations(), skipped)))
