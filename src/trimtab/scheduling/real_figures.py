"""The figures of jobs that ran for real, from tables.SCHEDULED: few jobs, so that all are exact."""

import math

import pandas as pd

from trimtab.records.figures import ClassFigures
from trimtab.records.summary import JobErrors


def class_figures(jobs: pd.DataFrame, drop_ratio: float) -> ClassFigures:
    """Return the figures of the jobs of one class; their energy is not known."""
    processed_s = float((jobs["execution_s"] + jobs["wasted_s"]).sum())
    response_s = jobs["response_s"]
    return ClassFigures(
        priority=int(jobs["priority"].iloc[0]),
        jobs=len(jobs),
        response_mean_s=float(response_s.mean()),
        response_p50_s=float(response_s.quantile(0.5)),
        response_p95_s=float(response_s.quantile(0.95)),
        response_p99_s=float(response_s.quantile(0.99)),
        waiting_mean_s=float((response_s - jobs["execution_s"]).mean()),
        execution_mean_s=float(jobs["execution_s"].mean()),
        set_up_mean_s=_known(jobs["set_up_s"].mean()),
        waste_share=float(jobs["wasted_s"].sum()) / processed_s if processed_s else 0.0,
        evictions=int(jobs["evictions"].sum()),
        migrations=int(jobs["migrations"].sum()),
        sprint_s=float(jobs["sprint_s"].sum()),
        dropped_tasks=int(jobs["dropped_tasks"].fillna(0).sum()),
        energy_j=None,
        drop_ratio=drop_ratio,
    )


def job_errors(real: pd.DataFrame, simulated: pd.DataFrame) -> JobErrors:
    """Return by how much each job's response differs from the simulated one's."""
    both = real.set_index("job")["response_s"].to_frame("real").join(
        simulated.set_index("job")["response_s"].rename("simulated"), how="inner"
    )  # fmt: skip
    error_pct = 100 * (both["simulated"] - both["real"]).abs() / both["real"]
    return JobErrors(len(both), _known(error_pct.mean()), _known(error_pct.median()))


def _known(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
