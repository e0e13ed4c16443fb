"""Algorithm 5 by hand: profile, then what is known, or probes and the best of them."""

import pytest

from trimtab.config.groups.objective import Least
from trimtab.records.tuning.ground_truth import RelativeCost
from trimtab.tuning.system.ground_truth import GroundTruth, GroundTruthJob, key_of
from trimtab.tuning.system.pool import ResourceDemand
from trimtab.tuning.system.probing import ProbingTuner, Shared
from trimtab.tuning.system.system_tuner import MeasuredEpoch, ResourceView, Settings

CANDIDATES: list[Settings] = [{"cores": 4}, {"cores": 1}, {"cores": 2}]
COSTS = {4: 3.0, 1: 5.0, 2: 2.0}
RATES = {"instructions": 1e9, "minor_faults": 3000.0}
OTHER = {"instructions": 1e7, "minor_faults": 1e6}
MACHINE = ResourceDemand(4, 16.0)


def outlook(waiting: int = 1, cores: int = 4, starts: bool = False) -> ResourceView:
    return ResourceView(waiting, ResourceDemand(cores, 16.0), MACHINE, starts)


def trial(
    shared: Shared,
    count: int,
    *,
    rates: dict[str, float] = RATES,
    waiting: int = 1,
    slower: float = 1.0,
    fraction: float = 1.0,
    warming_s: float = 0.0,
) -> tuple[list[int], ProbingTuner]:
    """What cores each epoch of one process of a trial has, and what steered it."""
    tuner, cores = ProbingTuner(CANDIDATES, shared), list[int]()
    for number in range(count):
        cores.append(int(tuner.settings_for(outlook(waiting, starts=number == 0))["cores"]))
        wall_s = COSTS[cores[-1]] * slower * fraction + (0 if number else warming_s)
        joules = cores[-1] * wall_s
        epoch = MeasuredEpoch(wall_s, joules, rates, 1.0, number == 0, fraction)
        tuner.epoch_ended(epoch)
    return cores, tuner


def new(**keys: object) -> Shared:
    return Shared(GroundTruth([], "host"), **keys)  # type: ignore[arg-type]


def test_a_new_job_is_probed_at_most_every_other_epoch_and_goes_on_with_the_best() -> None:
    learnt = list[GroundTruthJob]()
    shared = new(on_learnt=learnt.append)
    # Profiled; 1 probed; 4 is better; 2 probed; it is better; the default ones when warm; 2.
    cores, tuner = trial(shared, 8)
    assert cores == [4, 1, 4, 2, 2, 2, 2, 2]
    # The third epoch has shown the default settings warm, which need no probe of their own.
    assert tuner.report == {"epochs_probed": 2, "known": 0}
    [job] = shared.truth.jobs
    costs = {cost.settings["cores"]: (cost.time, cost.energy, cost.warm)
             for cost in job.costs.values()}  # fmt: skip
    assert costs == {
        4: (1.0, 1.0, True),
        1: (pytest.approx(5 / 3), pytest.approx(5 / 12), True),
        2: (pytest.approx(2 / 3), pytest.approx(4 / 12), True),
    }
    assert learnt == [job] * 4  # the default settings twice: cold and warm


def test_warming_up_is_nothing_that_the_default_settings_are_blamed_for() -> None:
    shared = new()
    # With 100 s of warming up the default settings look worst, and 1 is taken for better, until
    # the default ones are probed in their turn.
    cores, _ = trial(shared, 9, warming_s=100.0)
    assert cores == [4, 1, 1, 2, 2, 4, 2, 2, 2]
    assert not [cost for cost in shared.truth.jobs[0].costs.values() if not cost.warm]


def test_a_second_trial_of_the_search_is_not_probed_again() -> None:
    shared = new()
    trial(shared, 6)
    # It begins with what is best, is profiled there for the first time, and is 7 times slower.
    cores, tuner = trial(shared, 3, slower=7.0)
    assert cores == [2, 2, 2] and tuner.report["epochs_probed"] == 0
    cores, tuner = trial(shared, 3)
    # What its own search has learnt was not known before.
    assert cores == [2, 2, 2] and tuner.report == {"epochs_probed": 0, "known": 0}
    assert len(shared.truth.jobs) == 1


def test_what_is_probed_is_near_the_best() -> None:
    """By hand: of 3 x 3 settings, where 2 cores and 4 GiB are enough, 6 are probed, not 8."""
    candidates: list[Settings] = [
        {"cores": cores, "memory_gib": gib} for cores in (4, 1, 2) for gib in (8, 4, 2)
    ]
    tuner = ProbingTuner(candidates, new(probing_share=1.0))
    probed = list[Settings]()
    for number in range(9):
        probed.append(tuner.settings_for(outlook(1, starts=number == 0)))
        wall_s = COSTS[int(probed[-1]["cores"])] * (3 if probed[-1]["memory_gib"] == 2 else 1)
        tuner.epoch_ended(MeasuredEpoch(wall_s, None, RATES, 1.0, is_first=number == 0))
    # From 4/8: less memory of each kind, then fewer cores; 2 are better, and near them 2/4 and 2/2;
    # then 4/8 when warm.
    assert [(one["cores"], one["memory_gib"]) for one in probed] == [
        (4, 8), (4, 4), (4, 2), (1, 8), (2, 8), (2, 4), (2, 2), (4, 8), (2, 8),
    ]  # fmt: skip


def test_what_one_trial_has_not_probed_another_does() -> None:
    shared = new()
    assert trial(shared, 2)[0] == [4, 1]
    # Its costs are those of a trial that takes twice as long, in the units of the first one.
    assert trial(shared, 6, slower=2.0)[0] == [4, 2, 2, 4, 2, 2]
    costs = {cost.settings["cores"]: cost.time for cost in shared.truth.jobs[0].costs.values()}
    assert costs == {4: 1.0, 1: pytest.approx(5 / 3), 2: pytest.approx(2 / 3)}


def test_a_later_search_knows_the_job_and_a_stranger_is_probed() -> None:
    first = new()
    trial(first, 6)
    records = [job.record for job in first.truth.jobs]
    again = Shared(GroundTruth(records, "host"))
    cores, tuner = trial(again, 3)
    assert cores == [4, 2, 2] and tuner.report == {"epochs_probed": 0, "known": 1}
    stranger = Shared(GroundTruth(records, "host"))
    cores, tuner = trial(stranger, 3, rates=OTHER)
    assert cores == [4, 1, 4] and tuner.report == {"epochs_probed": 1, "known": 0}
    assert len(stranger.truth.jobs) == 2


def test_an_unlike_trial_of_the_same_search_is_a_job_of_its_own() -> None:
    shared = new()
    trial(shared, 6)
    trial(shared, 2)  # so that there is a profile under the best settings
    trial(shared, 6, rates=OTHER)
    assert len(shared.truth.jobs) == 2


def test_processors_are_spent_by_their_time() -> None:
    shared = new()
    job = shared.latest = shared.truth.new_job()
    for cores, time in {4: 1.0, 1: 3.0, 2: 2.0}.items():
        settings = {"cores": cores}
        job.costs[key_of(settings)] = RelativeCost(settings, time, cores * time, True)

    def chosen(waiting: int, cores: int = 4) -> object:
        tuner = ProbingTuner(CANDIDATES, shared)
        return tuner.settings_for(outlook(waiting, cores, starts=True))["cores"]

    # By hand, of 4 / 2 / 1 cores: alone 1, 2, 3; two 2, 2, 3; three 3, 3, 3; four 4, 4, 3.
    # Of alike ones it is the fewest cores.
    assert [chosen(waiting) for waiting in (1, 2, 3, 4, 100)] == [4, 2, 1, 1, 1]
    assert chosen(1, cores=2) == 2 and chosen(1, cores=1) == 1  # what is free
    shared.least = Least.ENERGY
    assert [chosen(waiting) for waiting in (1, 2, 100)] == [1, 1, 1]


def test_memory_is_shared_too() -> None:
    shared = new()
    job = shared.latest = shared.truth.new_job()
    candidates: list[Settings] = [{"cores": 1, "memory_gib": 16}, {"cores": 1, "memory_gib": 4}]
    for settings, time in zip(candidates, (1.0, 1.5), strict=True):
        job.costs[key_of(settings)] = RelativeCost(dict(settings), time, None, True)
    tuner = ProbingTuner(candidates, shared)
    assert tuner.settings_for(outlook(1, starts=True)) == candidates[0]
    assert tuner.settings_for(outlook(2, starts=True)) == candidates[1]


def test_a_probe_does_not_take_what_others_have() -> None:
    shared = new()
    tuner = ProbingTuner([{"cores": 2}, {"cores": 4}, {"cores": 1}], shared)
    tuner.settings_for(outlook(2, 2, starts=True))
    tuner.epoch_ended(MeasuredEpoch(2.0, None, RATES, 1.0, is_first=True))
    assert tuner.settings_for(outlook(2, 3)) == {"cores": 1}  # not 4


def test_epochs_on_other_shares_of_the_data_are_compared_by_their_work() -> None:
    shared = new()
    tuner = ProbingTuner(CANDIDATES, shared)
    for fraction in (0.1, 1.0, 0.5, 0.2, 0.3):
        settings = tuner.settings_for(outlook())
        cost = COSTS[int(settings["cores"])] * fraction
        tuner.epoch_ended(MeasuredEpoch(cost, None, RATES, 1.0, fraction == 0.1, fraction))
    assert tuner.settings_for(outlook()) == {"cores": 2}


def test_a_trial_that_runs_out_of_memory_goes_on_with_more() -> None:
    candidates: list[Settings] = [{"memory_gib": 8}, {"memory_gib": 2}, {"memory_gib": 4}]
    tuner = ProbingTuner(candidates, new())
    tuner.settings_for(outlook(starts=True))
    tuner.epoch_ended(MeasuredEpoch(1.0, None, RATES, 1.0, is_first=True))
    assert tuner.settings_for(outlook()) == {"memory_gib": 2}
    assert tuner.ran_out_of_memory()
    assert tuner.settings_for(outlook(starts=True)) == {"memory_gib": 8}
    assert not tuner.ran_out_of_memory()  # as there is no more


def test_what_a_trial_that_was_killed_has_not_probed_another_does() -> None:
    shared = new()
    tuner = ProbingTuner(CANDIDATES, shared)
    tuner.settings_for(outlook(starts=True))
    tuner.epoch_ended(MeasuredEpoch(3.0, None, RATES, 1.0, is_first=True))
    assert tuner.settings_for(outlook()) == {"cores": 1}  # and it is killed there
    tuner.ended()
    other = ProbingTuner(CANDIDATES, shared)
    other.settings_for(outlook(starts=True))
    other.epoch_ended(MeasuredEpoch(3.0, None, RATES, 1.0, is_first=True))
    assert other.settings_for(outlook()) == {"cores": 1}
    tuner.ended()  # ends no probe of another's
    third = ProbingTuner(CANDIDATES, shared)
    third.settings_for(outlook(starts=True))
    third.epoch_ended(MeasuredEpoch(3.0, None, RATES, 1.0, is_first=True))
    assert third.settings_for(outlook()) == {"cores": 2}


def test_nothing_to_choose_from() -> None:
    with pytest.raises(ValueError, match="the default ones at least"):
        ProbingTuner([], new())
    shared = new()
    tuner = ProbingTuner(CANDIDATES[:1], shared)
    for number in range(4):
        assert tuner.settings_for(outlook(starts=not number)) == {"cores": 4}
        tuner.epoch_ended(MeasuredEpoch(1.0, None, RATES, 1.0, is_first=not number))


def test_settings_that_were_not_in_effect_are_not_what_an_epoch_took() -> None:
    candidates: list[Settings] = [{"memory_gib": 8}, {"memory_gib": 2}, {"memory_gib": 4}]
    tuner = ProbingTuner(candidates, new(probing_share=1.0))
    tuner.settings_for(outlook(starts=True))
    tuner.epoch_ended(MeasuredEpoch(2.0, None, RATES, 1.0, is_first=True))
    assert tuner.settings_for(outlook()) == {"memory_gib": 2}
    tuner.epoch_ended(MeasuredEpoch(0.1, None, RATES, 1.0, not_set=frozenset({"memory_gib"})))
    probed = [tuner.settings_for(outlook())["memory_gib"]]
    for _ in range(4):
        tuner.epoch_ended(MeasuredEpoch(1.0, None, RATES, 1.0))
        probed.append(tuner.settings_for(outlook())["memory_gib"])
    assert 2 not in probed


def test_what_no_settings_change_is_no_reason_to_pass_over_them() -> None:
    never = frozenset({"frequency_mhz"})
    tuner = ProbingTuner(CANDIDATES, new(probing_share=1.0))
    for number in range(6):
        cores = int(tuner.settings_for(outlook(starts=not number))["cores"])
        epoch = MeasuredEpoch(COSTS[cores], None, RATES, 1.0, not number, not_set=never)
        tuner.epoch_ended(epoch)
    assert tuner.settings_for(outlook()) == {"cores": min(COSTS, key=lambda one: COSTS[one])}


def test_where_nothing_is_known_a_trial_begins_with_its_share() -> None:
    for waiting, cores in ((1, 4), (2, 2), (3, 1), (4, 1), (9, 1)):
        tuner = ProbingTuner(CANDIDATES, new())
        assert tuner.settings_for(outlook(waiting, starts=True)) == {"cores": cores}
    both: list[Settings] = [
        {"cores": cores, "memory_gib": memory} for cores in (4, 2, 1) for memory in (16, 2, 8, 12)
    ]
    tuner = ProbingTuner(both, new())
    assert tuner.settings_for(outlook(2, starts=True)) == {"cores": 2, "memory_gib": 8}
