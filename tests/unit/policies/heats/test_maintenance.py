import pandas as pd
import pytest

from trimtab.errors import UserError
from trimtab.execution.dispatch_policy import machine_facts
from trimtab.policies.facts import Asked, ProbeRun
from trimtab.policies.heats.predictions import PredictionModel, fit
from trimtab.policies.heats.training import (
    Finished,
    HeatsParameters,
    Maintenance,
    retrained,
    train,
)

GRID = [(cores, memory) for cores in (1, 2, 4) for memory in (0.5, 1.0)]


def asking(cores: float, memory_gib: float) -> Asked:
    return Asked(cores, memory_gib, work_s=1.0)


def observations(factor: float = 1.0, node_type: str = "a") -> list[ProbeRun]:
    return [
        ProbeRun(node_type, c, m, 0, factor * (10 - c + m), factor * (5 + 2 * c)) for c, m in GRID
    ]


def model() -> PredictionModel:
    return fit({"a": observations(), "b": observations(2.0, "b")})


def ended(known: PredictionModel, actual: list[ProbeRun]) -> list[Finished]:
    return [
        Finished(0.0, one, *known.predict(one.node_type, asking(one.cores, one.memory_gib), 0))
        for one in actual
    ]


def test_error_is_the_larger_of_both() -> None:
    one = Finished(0.0, ProbeRun("a", 1, 1, 0, 10.0, 20.0), 12.0, 19.0)
    assert one.error == pytest.approx(0.2)
    assert Finished(0.0, one.actual, 10.0, 30.0).error == pytest.approx(0.5)


def test_a_machine_that_got_slower_is_learnt_anew() -> None:
    known = model()
    slower = ended(known, observations(3.0))
    again = retrained(known, slower, error_threshold=0.1)
    for one in observations(3.0):
        asked = asking(one.cores, one.memory_gib)
        assert again.predict("a", asked, 0) == pytest.approx((one.wall_s, one.energy_j))
        assert again.predict("b", asked, 0) == known.predict("b", asked, 0)
    assert not [task for task in ended(again, observations(3.0)) if task.error > 1e-9]


def test_what_is_predicted_well_is_filtered_out() -> None:
    """Good predictions among bad ones take no part: the new plane goes through the bad alone."""
    known = model()
    tasks = ended(known, observations()) + ended(known, observations(2.0))
    again = retrained(known, tasks, error_threshold=0.01)
    asked = asking(2, 0.5)
    assert again.predict("a", asked, 0) == pytest.approx((17.0, 18.0))
    kept = retrained(known, ended(known, observations(1.05)), error_threshold=0.1)
    assert kept.predict("a", asked, 0) == known.predict("a", asked, 0)


def test_too_little_to_learn_from_changes_nothing() -> None:
    known = model()
    again = retrained(known, ended(known, observations(3.0)[:2]), error_threshold=0.1)
    assert again.predict("a", asking(1, 1), 0) == known.predict("a", asking(1, 1), 0)


def test_a_new_node_type_is_added() -> None:
    known = model()
    tasks = [Finished(0.0, one, 1.0, 1.0) for one in observations(node_type="new")]
    again = retrained(known, tasks, error_threshold=0.1)
    assert again.predict("new", asking(2, 0.5), 0) == pytest.approx((8.5, 9.0))


def test_only_the_last_hours_are_learnt_from() -> None:
    """Jobs an hour apart, seen at once; of a window of two hours the last two are left."""
    facts = machine_facts({"only": 0})
    given = HeatsParameters(maintenance_s=1.0, window_s=7200.0)
    maintenance = Maintenance(train(facts, given), facts, given)
    rows = [
        {"finish_s": 3600.0 * hour, "execution_s": 5.0, "set_up_s": 0.0, "energy_j": 7.0}
        | {"evictions": 0, "migrations": 0, "node": 0, "level": 0, "job_class": "only"}
        for hour in range(1, 6)
    ]
    maintenance(pd.DataFrame(rows), now_s=5.5 * 3600)
    assert [task.end_s for task in maintenance._finished] == [4 * 3600.0, 5 * 3600.0]


def test_window_is_a_day_by_default() -> None:
    assert HeatsParameters().window_s == 24 * 3600
    with pytest.raises(UserError, match="window_s"):
        HeatsParameters(window_s=0.0)
