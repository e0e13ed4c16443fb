"""Figures by class, against NumPy over all jobs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from trimtab.policies.layout import FINISHED_ROW
from trimtab.records.figures import RANKS
from trimtab.simulation.figures import FigureSums

OF_CLUSTER = (
    "makespan_s", "utilisation", "gpu_utilisation", "gpu_fragmentation", "idle_energy_j",
    "active_energy_j", "unfinished",
)  # fmt: skip


def _finished(classes: int, jobs: int, spread: float, seed: int) -> NDArray[np.void]:
    rng = np.random.default_rng(seed)
    rows = np.zeros(jobs, FINISHED_ROW)
    rows["job_class"] = rng.integers(0, classes, jobs)
    rows["response_s"] = rng.lognormal(3.0, spread, jobs) * rng.integers(0, 2, jobs)
    rows["execution_s"], rows["energy_j"] = rows["response_s"] / 2, rng.uniform(0, 9, jobs)
    return rows


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 300),
    st.integers(1, 3000),
    st.floats(0, 4),
    st.integers(0, 2**32),
    st.integers(1, 3000),
)
def test_figures_are_those_of_all_jobs(
    classes: int, jobs: int, spread: float, seed: int, size: int
) -> None:
    _check(_finished(classes, jobs, spread, seed), classes, size)


def test_more_pairs_of_class_and_bin_than_room_at_first() -> None:
    _check(_finished(2000, 60_000, 2.0, 1), 2000, 50_000)


def _check(rows: NDArray[np.void], classes: int, size: int) -> None:
    sums = FigureSums([f"c{number}" for number in range(classes)])
    for at in range(0, len(rows), size):
        sums.add(rows[at : at + size])
    found = sums.classes()
    assert found.keys() == {f"c{number}" for number in np.unique(rows["job_class"])}
    of_cluster = dict.fromkeys(OF_CLUSTER, 0)
    pairs = [(found[f"c{number}"], rows[rows["job_class"] == number]) for number in range(classes)
             if f"c{number}" in found]  # fmt: skip
    for figures, jobs in [*pairs, (sums.total(**of_cluster), rows)]:
        assert figures.jobs == len(jobs)
        assert figures.energy_j == pytest.approx(jobs["energy_j"].sum())
        assert figures.response_mean_s == pytest.approx(jobs["response_s"].mean())
        exact = np.percentile(jobs["response_s"], RANKS, method="inverted_cdf")
        shown = [getattr(figures, f"response_p{rank}_s") for rank in RANKS]
        np.testing.assert_allclose(shown, exact, rtol=1.1e-3, atol=1e-9)
