"""The search for the set-up of figure 4.6a: its server, by hand and by formulas, and its result."""

import sys
from pathlib import Path

import numpy as np
import pytest
from closed_forms import cobham

from trimtab.evaluation.report.published import published
from trimtab.files import read_json
from trimtab.queueing.phase_type import PhaseType, exponential, fit_two_moments
from trimtab.queueing.poisson_priority import Discipline, response_times

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
from da_nearest import PUBLISHED, distance, responses  # noqa: E402

HIGH = np.array([False, True, False, True])
AT = np.array([0.0, 3.0, 4.0, 20.0])
SIZE_S = np.array([10.0, 2.0, 5.0, 1.0])


@pytest.mark.parametrize(
    ("evicts", "evicting_s", "evicted_s", "high_s", "low_s"),
    [
        # The second waits for the first until 10, ends at 12; the third ends at 17.
        (False, 0.0, 0.0, [9.0, 1.0], [10.0, 13.0]),
        # It evicts at 3 and ends at 5; the first restarts and ends at 15, the third at 20.
        (True, 0.0, 0.0, [2.0, 1.0], [15.0, 16.0]),
        # It starts at 4 and ends at 6; the first takes 3 s more and ends at 19. The third would
        # end at 24, is evicted at 20, where the last ends at 22, and takes 8 s from there.
        (True, 1.0, 3.0, [3.0, 2.0], [19.0, 26.0]),
    ],
)
def test_four_jobs_by_hand(
    evicts: bool, evicting_s: float, evicted_s: float, high_s: list[float], low_s: list[float]
) -> None:
    found = responses(AT, HIGH, SIZE_S, evicts, evicting_s, evicted_s)
    assert found == pytest.approx([np.mean(high_s), np.mean(low_s)])


@pytest.mark.parametrize("evicts", [False, True])
def test_long_runs_are_those_of_the_formulas(evicts: bool) -> None:
    rng, jobs, rates = np.random.default_rng(4), 400_000, [0.2, 0.3]
    services: list[PhaseType] = [fit_two_moments(1.0, 2.0), exponential(1.0)]
    high = rng.random(jobs) < 0.4
    size_s = np.where(high, services[0].sample(rng, jobs), services[1].sample(rng, jobs))
    found = responses(rng.exponential(2.0, jobs).cumsum(), high, size_s, evicts, 0.0, 0.0)
    discipline = Discipline.PREEMPTIVE_REPEAT if evicts else Discipline.NON_PREEMPTIVE
    expected = [each.mean for each in response_times(rates, services, discipline)]
    assert found[0] == pytest.approx(expected[0], rel=0.03)
    if not evicts:
        assert expected == pytest.approx(cobham(rates, services))
        assert found[1] == pytest.approx(expected[1], rel=0.03)


def test_what_is_said_of_the_search_is_what_it_found() -> None:
    found = read_json(BENCHMARKS / "results/da_nearest.json")
    reason = next(
        str(row.values["reason"])
        for row in published("schedule_verdicts")
        if "DA(0,20)" in row.row and "high" in row.row and row.values.get("reason")
    )
    said = " ".join(reason.split())
    for key in ("nearest_without_delays", "nearest"):
        high, da = (round(found[key][name]) for name in ("np_high", "da_high"))
        assert f"NP {high:+d} %, DA {da:+d} %" in said
    for row in [found["nearest"], *(short["nearest"] for short in found["short"].values())]:
        ours = np.array([row[name] for name in PUBLISHED])
        assert row["distance_points"] == pytest.approx(distance(ours))
    assert found["nearest"]["distance_points"] > 5
