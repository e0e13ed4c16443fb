"""Figures of real jobs, worked out by hand from their table."""

import pandas as pd
import pytest

from trimtab.scheduling.real import class_figures, job_errors

JOBS = pd.DataFrame(
    {
        "job": [0, 1, 2],
        "priority": [1, 1, 1],
        "response_s": [10.0, 20.0, 40.0],
        "execution_s": [4.0, 5.0, 9.0],
        "wasted_s": [0.0, 2.0, 0.0],
        "set_up_s": [1.0, 2.0, float("nan")],
        "sprint_s": [0.0, 1.0, 2.0],
        "dropped_tasks": [float("nan"), 2.0, 1.0],
        "evictions": [0, 1, 0],
        "migrations": [0, 0, 3],
    }
)


def test_figures_are_those_of_the_table() -> None:
    figures = class_figures(JOBS, 0.2)
    assert (figures.priority, figures.jobs, figures.drop_ratio) == (1, 3, 0.2)
    assert figures.response_mean_s == pytest.approx(70 / 3)
    assert figures.response_p50_s == 20.0
    assert figures.response_p95_s == pytest.approx(38.0)  # linear between the jobs
    assert figures.response_p99_s == pytest.approx(39.6)
    assert figures.waiting_mean_s == pytest.approx(52 / 3)
    assert (figures.execution_mean_s, figures.set_up_mean_s) == (6.0, 1.5)
    assert figures.waste_share == pytest.approx(2 / 20)
    assert (figures.evictions, figures.migrations, figures.dropped_tasks) == (1, 3, 3)
    assert (figures.sprint_s, figures.energy_j, figures.accuracy_loss_pct) == (3.0, None, None)


def test_what_no_job_says_is_unknown() -> None:
    figures = class_figures(JOBS.assign(set_up_s=float("nan"), execution_s=0.0, wasted_s=0.0), 0.0)
    assert (figures.set_up_mean_s, figures.waste_share) == (None, 0.0)


def test_each_real_job_is_held_against_its_own_simulation() -> None:
    simulated = pd.DataFrame({"job": [2, 1, 0, 7], "response_s": [44.0, 16.0, 10.0, 1.0]})
    errors = job_errors(JOBS, simulated)
    assert (errors.jobs, errors.median_error_pct) == (3, pytest.approx(10.0))
    assert errors.mean_error_pct == pytest.approx((0 + 20 + 10) / 3)
    nothing = job_errors(JOBS, simulated.assign(job=[8, 9, 10, 11]))
    assert (nothing.jobs, nothing.mean_error_pct, nothing.median_error_pct) == (0, None, None)
