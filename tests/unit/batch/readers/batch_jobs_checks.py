"""What holds of every table of jobs that a reader returns."""

import numpy as np
import pandas as pd
import pyarrow as pa

from trimtab.batch.readers.read import ReadJobs
from trimtab.records.batch.tables import BATCH_JOBS


def check(found: ReadJobs) -> pd.DataFrame:
    """Return the jobs, which can be simulated as they are."""
    jobs = found.jobs
    assert list(jobs) == BATCH_JOBS.names
    assert pa.Table.from_pandas(jobs, BATCH_JOBS, preserve_index=False).num_rows == len(jobs) > 0
    assert jobs["job"].tolist() == list(range(len(jobs)))
    assert jobs["submit_s"].iloc[0] == 0 and (np.diff(jobs["submit_s"]) >= 0).all()
    assert np.isfinite(jobs["submit_s"]).all() and np.isfinite(jobs["run_s"]).all()
    assert (jobs["run_s"] >= 0).all() and (jobs["parts"] >= 1).all()
    assert (jobs["cpu_milli"] >= 1).all() and (jobs["memory_bytes"] >= 0).all()
    gpu_milli = jobs["gpu_milli"]
    assert ((gpu_milli >= 0) & ((gpu_milli <= 1000) | (gpu_milli % 1000 == 0))).all()
    assert (jobs["estimate_s"].isna() | (jobs["estimate_s"] > 0)).all()
    start_s = jobs["recorded_start_s"]
    assert (start_s.isna() | (start_s >= jobs["submit_s"])).all()
    assert (jobs["least_parts"] >= 1).all() and (jobs["least_parts"] <= jobs["most_parts"]).all()
    assert jobs["serial_share"].between(0, 1).all()
    assert (np.isfinite(jobs["deadline_s"]) | jobs["deadline_s"].isna()).all()
    assert all(count > 0 for count in found.skipped.values())
    return jobs
