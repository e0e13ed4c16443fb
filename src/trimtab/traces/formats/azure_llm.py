"""Azure's traces of LLM inference (2023 and 2024): a row a request.

https://github.com/Azure/AzurePublicDataset/blob/master/AzureLLMInferenceDataset2023.md: TIMESTAMP,
ContextTokens, GeneratedTokens, with a header.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa

from trimtab.errors import UserError
from trimtab.traces.formats.csv_table import read_csv
from trimtab.traces.jobs import jobs_frame

_EXPECTED = "AzureLLMInferenceTrace_*.csv: TIMESTAMP,ContextTokens,GeneratedTokens"
_TOKENS = ["ContextTokens", "GeneratedTokens"]
_TYPES = {"TIMESTAMP": pa.string(), **dict.fromkeys(_TOKENS, pa.float64())}


def read(
    path: Path,
    skipped: Counter[str],
    context_token_s: float,
    generated_token_s: float,
    cpu_milli: int,
    gpu_milli: int,
    memory_bytes: int,
) -> Iterator[pd.DataFrame]:
    """Yield the requests, of priority 0.

    The trace has tokens, but no times. A request works `context_token_s` for each context token
    (prefill) and `generated_token_s` for each generated token (decode). It demands `cpu_milli`,
    `gpu_milli` and `memory_bytes`. Raises UserError with the file, missing columns, or the row.
    """
    origin: pd.Timestamp | None = None
    for frame in read_csv(path, _TYPES, _EXPECTED):
        try:
            times = pd.to_datetime(frame["TIMESTAMP"], utc=True, format="ISO8601")
        except ValueError as error:
            raise UserError(f"{path}: {error}; expected {_EXPECTED}") from None
        # Seconds since the first request keep digits that seconds since 1970 would lose.
        origin = times.min() if origin is None else origin
        tokens = frame[_TOKENS].where(frame[_TOKENS] >= 0)
        context_s = tokens["ContextTokens"] * context_token_s
        yield jobs_frame(
            arrival_s=(times - origin).dt.total_seconds(),
            work_s=context_s + tokens["GeneratedTokens"] * generated_token_s,
            cpu_milli=cpu_milli,
            gpu_milli=gpu_milli,
            memory_bytes=memory_bytes,
        )
