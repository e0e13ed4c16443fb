"""Azure Functions, two weeks of 2019: invocations by minute and percentiles of durations.

https://github.com/Azure/AzurePublicDataset/blob/master/AzureFunctionsDataset2019.md: a pair of
files a day. invocations_per_function_md.anon.dNN.csv: HashOwner, HashApp, HashFunction, Trigger,
and the columns 1 to 1440, the invocations in each minute. function_durations_percentiles.anon.
dNN.csv: HashOwner, HashApp, HashFunction, Average, Count, Minimum, Maximum and
percentile_Average_0, _1, _25, _50, _75, _99, _100 (ms).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from trimtab.errors import UserError
from trimtab.traces.formats.csv_table import read_csv, whole_csv
from trimtab.traces.jobs import jobs_frame

_COUNTS = "invocations_per_function_md.anon.dNN.csv of the Azure Functions dataset of 2019"
_DURATIONS = "function_durations_percentiles.anon.dNN.csv of the Azure Functions dataset of 2019"
_FUNCTION = ["HashOwner", "HashApp", "HashFunction"]
_MINUTES = [str(minute) for minute in range(1, 1441)]
_RANKS = np.array([0, 1, 25, 50, 75, 99, 100])
_PERCENTILES = [f"percentile_Average_{rank}" for rank in _RANKS]
_KEY_TYPES = dict.fromkeys(_FUNCTION, pa.string())
_MINUTE_S = 60.0
_MOST_OF_A_MINUTE = 10_000_000  # the dataset has up to a million
_DAY_S = 86400.0


def read(
    invocation_paths: Sequence[Path],
    duration_paths: Sequence[Path],
    skipped: Counter[str],
    cpu_milli: int,
    memory_bytes: int,
    seed: int,
) -> Iterator[pd.DataFrame]:
    """Yield the invocations, of priority 0.

    The two sequences name each day's two files, in order of the days. The dataset counts
    invocations by minute. Each gets a random time in its minute, and a random duration,
    interpolated linearly between its function's percentiles of that day; both depend on `seed`.
    (The percentiles are of averages over 30 s, a restriction of the dataset.) It has no demands:
    `cpu_milli` and `memory_bytes` are for one invocation. Invocations of functions without
    durations are counted in `skipped`. One day's counts are held in memory (about 0.3 GB). Raises
    UserError with the file, missing columns, or the row.
    """
    if len(invocation_paths) != len(duration_paths):
        raise UserError(
            f"{len(invocation_paths)} files of invocations, {len(duration_paths)} of durations; "
            "expected a pair for each day"
        )
    rng = np.random.default_rng(seed)
    pairs = zip(invocation_paths, duration_paths, strict=True)
    for day, (invocation_path, duration_path) in enumerate(pairs):
        counts, quantiles_s = _day(invocation_path, duration_path, skipped)
        busiest = int(counts.sum(axis=0, dtype=np.int64).max(initial=0))
        if busiest > _MOST_OF_A_MINUTE:
            raise UserError(
                f"{invocation_path}: {busiest:,} invocations in a minute, expected at most"
                f" {_MOST_OF_A_MINUTE:,}"
            )
        for minute in range(len(_MINUTES)):
            function = np.repeat(np.arange(len(counts)), counts[:, minute])
            offset_s = np.sort(rng.uniform(0.0, _MINUTE_S, function.size))
            function = rng.permutation(function)
            yield jobs_frame(
                arrival_s=day * _DAY_S + minute * _MINUTE_S + offset_s,
                work_s=_interpolated(quantiles_s, function, rng.uniform(0, 100, function.size)),
                cpu_milli=cpu_milli,
                memory_bytes=memory_bytes,
            )


def _interpolated(
    quantiles_s: NDArray[np.float64], function: NDArray[np.int64], rank: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return each function's duration at a rank of 0 to 100."""
    right = np.clip(np.searchsorted(_RANKS, rank), 1, _RANKS.size - 1)
    share = (rank - _RANKS[right - 1]) / (_RANKS[right] - _RANKS[right - 1])
    low, high = quantiles_s[function, right - 1], quantiles_s[function, right]
    return np.asarray(low + share * (high - low))


def _day(
    invocation_path: Path, duration_path: Path, skipped: Counter[str]
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return one day's counts (functions, 1440) and durations at _RANKS (functions, 7), in s."""
    count_types = _KEY_TYPES | dict.fromkeys(_MINUTES, pa.int32())
    duration_types = _KEY_TYPES | dict.fromkeys(_PERCENTILES, pa.float64())
    durations = whole_csv(duration_path, duration_types, _DURATIONS)
    durations = durations.dropna().drop_duplicates(_FUNCTION).set_index(_FUNCTION)
    all_counts: list[NDArray[np.int32]] = []
    all_quantiles: list[NDArray[np.float64]] = []
    for frame in read_csv(invocation_path, count_types, _COUNTS):
        counts = frame[_MINUTES]
        if (bad := ~(counts >= 0).all(axis=1)).any():
            name = frame["HashFunction"][bad].iloc[0]
            raise UserError(
                f"{invocation_path}: function {name} has a minute that is empty or negative; "
                f"expected {_COUNTS}"
            )
        rows = durations.index.get_indexer(pd.MultiIndex.from_frame(frame[_FUNCTION]))
        known = rows >= 0
        skipped["no duration recorded"] += int(counts[~known].to_numpy(np.int64).sum())
        all_counts.append(counts[known].to_numpy(np.int32))
        quantiles_s = durations[_PERCENTILES].to_numpy()[rows[known]] / 1e3
        all_quantiles.append(np.maximum.accumulate(quantiles_s, axis=1))
    if not all_counts:
        raise UserError(f"{invocation_path}: holds no row; expected {_COUNTS}")
    return np.concatenate(all_counts), np.concatenate(all_quantiles)
