"""Algorithm 5 by hand: profile, then what is known, or one candidate an epoch and the best."""

import pytest

from trimtab.tuning.ground_truth import GroundTruth
from trimtab.tuning.probing import Phase, SystemTuner
from trimtab.tuning.steering import MeasuredEpoch, Settings

CANDIDATES: list[Settings] = [{"cores": 4}, {"cores": 1}, {"cores": 2}]
COSTS = {4: 3.0, 1: 5.0, 2: 2.0}
RATES = {"instructions": 1e9, "minor_faults": 100.0}


def epochs(tuner: SystemTuner, count: int, work_epochs: float = 1.0) -> list[tuple[Phase, object]]:
    """What each epoch runs under."""
    run = []
    for _ in range(count):
        cores = tuner.settings["cores"]
        run.append((tuner.phase, cores))
        tuner.epoch_ended(MeasuredEpoch(COSTS[int(cores)] * work_epochs, RATES, work_epochs))
    return run


def test_a_new_job_is_probed_and_goes_on_with_the_best() -> None:
    truth, probed = GroundTruth([], "host", "time"), []
    tuner = SystemTuner(CANDIDATES, truth, on_probed=lambda: probed.append(1))
    assert epochs(tuner, 5) == [
        (Phase.PROFILING, 4),
        (Phase.PROBING, 1),
        (Phase.PROBING, 2),
        (Phase.BEST, 2),
        (Phase.BEST, 2),
    ]
    assert [(job.rates, job.settings) for job in truth.jobs] == [(RATES, {"cores": 2})]
    assert probed == [1]


def test_a_known_job_is_not_probed() -> None:
    truth = GroundTruth([], "host", "time")
    epochs(SystemTuner(CANDIDATES, truth), 3)
    second = SystemTuner(CANDIDATES, truth)
    assert epochs(second, 3) == [(Phase.PROFILING, 4), (Phase.KNOWN, 2), (Phase.KNOWN, 2)]
    assert len(truth.jobs) == 1


def test_an_unlike_job_is_probed_although_others_are_known() -> None:
    truth = GroundTruth([], "host", "time")
    truth.learn({"instructions": 10.0, "minor_faults": 1e6}, {"cores": 1})
    assert epochs(SystemTuner(CANDIDATES, truth), 2)[1] == (Phase.PROBING, 1)


def test_a_trial_that_ends_while_it_is_probed_is_no_knowledge() -> None:
    truth = GroundTruth([], "host", "time")
    epochs(SystemTuner(CANDIDATES, truth), 2)
    assert truth.jobs == []


def test_epochs_on_other_shares_of_the_data_are_compared_by_their_work() -> None:
    tuner = SystemTuner(CANDIDATES, GroundTruth([], "host", "time"))
    for work_epochs in (0.1, 1.0, 0.5):
        cost = COSTS[int(tuner.settings["cores"])] * work_epochs
        tuner.epoch_ended(MeasuredEpoch(cost, RATES, work_epochs))
    assert tuner.settings == {"cores": 2}


def test_settings_that_fail_are_not_chosen() -> None:
    tuner = SystemTuner(CANDIDATES[:2], GroundTruth([], "host", "time"))
    tuner.epoch_ended(MeasuredEpoch(9.0, RATES))
    tuner.epoch_ended(MeasuredEpoch(float("inf"), RATES))
    assert tuner.settings == {"cores": 4} and tuner.phase == Phase.BEST


def test_nothing_to_choose_from() -> None:
    with pytest.raises(ValueError, match="the default ones at least"):
        SystemTuner([], GroundTruth([], "host", "time"))
    only = SystemTuner(CANDIDATES[:1], GroundTruth([], "host", "time"))
    assert epochs(only, 2) == [(Phase.PROFILING, 4), (Phase.BEST, 4)]
