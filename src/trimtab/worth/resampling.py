"""Other queues that this cluster might have had: a bootstrap of blocks of submissions.

The log is cut into blocks of a day, or into ten of equal length where it has fewer days. As many
blocks are drawn with replacement and put one after the other; jobs keep their place in the block.
(Carlstein, The Annals of Statistics 14(3), 1986: blocks that do not overlap.) So bursts and times
of day stay, and weekdays do not.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_DAY_S = 86400.0
_FEWEST = 10  # blocks
_SEED = 20_231
_TIMES = ("submit_s", "recorded_start_s", "deadline_s")


def block_length_s(jobs: pd.DataFrame) -> float:
    """Return how long a block is; 0 if all jobs (BATCH_JOBS) are submitted at one instant."""
    return min(_DAY_S, float(np.ptp(jobs["submit_s"])) / _FEWEST)


def resampled(jobs: pd.DataFrame, replication: int) -> pd.DataFrame:
    """Return the jobs (BATCH_JOBS) of a replication: the same for the same number."""
    submit_s = jobs["submit_s"].to_numpy(np.float64)
    begin_s, span_s = submit_s.min(), float(np.ptp(submit_s))
    block_s = block_length_s(jobs)
    if not block_s > 0:
        return jobs
    blocks = max(int(np.ceil(span_s / block_s - 1e-9)), 1)
    of_job = np.minimum((submit_s - begin_s) // block_s, blocks - 1).astype(np.int64)
    generator = np.random.default_rng([_SEED, replication])
    rows, places = _drawn(of_job, blocks, generator)
    moved_s = (places - of_job[rows]) * block_s
    changed = jobs.iloc[rows].reset_index(drop=True)
    changed = changed.assign(**{name: changed[name] + moved_s for name in _TIMES})
    changed = changed.sort_values("submit_s", kind="stable", ignore_index=True)
    return changed.assign(job=np.arange(len(changed)))


def _drawn(
    of_job: NDArray[np.int64], blocks: int, generator: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the jobs of drawn blocks, one or more, and the place of each one's block."""
    order = np.argsort(of_job, kind="stable")
    edges = np.searchsorted(of_job[order], np.arange(blocks + 1))
    while True:
        drawn = generator.integers(0, blocks, blocks)
        sizes = edges[drawn + 1] - edges[drawn]
        if sizes.sum():
            break
    rows = np.concatenate([order[edges[block] : edges[block + 1]] for block in drawn])
    return rows, np.repeat(np.arange(blocks), sizes)
