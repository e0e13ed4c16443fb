"""Means of figures over replications, with intervals worked out by hand."""

from dataclasses import replace

import pytest

from trimtab.records.figures import ClassFigures
from trimtab.scheduling.cell import mean_figures

FIGURES = ClassFigures(
    response_mean_s=10.0,
    response_p50_s=9.0,
    response_p95_s=20.0,
    response_p99_s=25.0,
    waiting_mean_s=3.0,
    execution_mean_s=7.0,
    waste_share=0.0,
    jobs=4,
    set_up_mean_s=None,
    sprint_s=0.0,
    energy_j=100.0,
    evictions=2,
    migrations=0,
    dropped_tasks=1,
    priority=1,
)


def test_one_replication_is_what_it_was() -> None:
    assert mean_figures([FIGURES]) == FIGURES


def test_means_have_the_half_width_of_students_t() -> None:
    other = replace(FIGURES, response_mean_s=16.0, jobs=5, evictions=2)
    mean = mean_figures([FIGURES, other])
    assert (mean.response_mean_s, mean.jobs) == (13.0, 4.5)
    # Student's t of one degree of freedom at 99.5 %, and the standard error of 10 and 16.
    assert mean.response_mean_s_half_width_99 == pytest.approx(63.6567411629 * 3.0)
    assert mean.execution_mean_s_half_width_99 == 0.0
    assert type(mean.evictions) is int and mean.evictions == 2  # the same in both: a count
    assert mean.set_up_mean_s is None


def test_what_one_replication_does_not_know_is_of_the_others() -> None:
    unknown = replace(FIGURES, response_mean_s=None)
    mean = mean_figures([unknown, FIGURES])
    assert (mean.response_mean_s, mean.response_mean_s_half_width_99) == (10.0, None)
