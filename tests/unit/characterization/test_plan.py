"""What is run: each setting once a repeat, few sessions, and a cost that is told before."""

import json
from collections import Counter

import pytest
from space import ASKED, MEANS, SPACE, TREE, row

from trimtab.characterization.plan import cost, ordered, sessions
from trimtab.config.groups.learning.characterization import PLATFORM_DEFAULTS

EVERY = [*SPACE.defaults(), *SPACE.one_at_a_time()]


def test_one_parameter_differs_from_the_defaults_at_a_time() -> None:
    defaults = {run.workload.name: json.loads(run.settings) for run in SPACE.defaults()}
    for run in SPACE.one_at_a_time():
        expected = defaults[run.workload.name]
        settings = json.loads(run.settings)
        assert settings.keys() == expected.keys()
        assert tuple(name for name in settings if settings[name] != expected[name]) == run.varied
        assert len(run.varied) == 1


def test_every_level_of_every_parameter_is_run_as_often_as_asked() -> None:
    of_tree = Counter(run.varied for run in EVERY if run.workload is TREE)
    repeats = ASKED.repeats
    assert of_tree == {
        (): repeats,
        ("cores",): repeats,
        ("shuffle_compress",): repeats,
        ("max_depth",): 2 * repeats,
        ("max_bins",): repeats,
    }
    assert {run.varied for run in EVERY if run.workload is MEANS} == {
        (), ("cores",), ("shuffle_compress",)
    }  # fmt: skip


def test_the_defaults_are_the_first_levels_and_else_those_of_spark() -> None:
    run = next(run for run in SPACE.defaults() if run.workload is TREE)
    assert run.platform == {**PLATFORM_DEFAULTS, "cores": 1}
    assert run.hyperparameters == {"max_depth": 5, "max_bins": 32, "min_instances_per_node": 1}


def test_runs_share_sessions_and_repeats_do_not() -> None:
    runs = ordered([*EVERY, *EVERY])
    assert len(runs) == len(EVERY) == len({run.key for run in EVERY})
    # The defaults', with all that hyperparameters change, and one for each level: each repeat anew.
    assert sessions(runs) == 3 * ASKED.repeats
    assert [run.repeat for run in runs] == sorted(run.repeat for run in runs)


def test_what_the_running_session_can_do_comes_first() -> None:
    runs = ordered(EVERY)
    running = runs[-1].session
    again = ordered(EVERY, running)
    first = [run for run in again if run.session == running]
    assert again == first + [run for run in runs if run not in first]
    assert sessions(again, running) == sessions(runs) - 1
    assert sessions(first, running) == 0
    done = [row(run, wall_s=2.0) for run in SPACE.defaults()]
    assert cost(first, done, 1, 10.0, running).predicted_s == 2.0 * len(first)


def test_the_cost_is_that_of_the_defaults() -> None:
    runs = ordered(EVERY)
    assert cost(runs, [], 1, 10.0).predicted_s is None
    wall_s = {"iris_decision_tree": 2.0, "iris_kmeans": 3.0}
    done = [row(run, wall_s=wall_s[run.workload.name]) for run in SPACE.defaults()]
    found = cost(runs, done, 1, 10.0)
    trees = sum(run.workload is TREE for run in runs)
    warm_ups = 9 * (2.0 + 3.0)  # of both workloads in each of nine sessions
    expected_s = trees * 2.0 + (len(runs) - trees) * 3.0 + warm_ups + 9 * 10.0
    assert (found.runs, found.sessions, found.predicted_s) == (len(runs), 9, expected_s)
    assert "27 runs in 9 sessions of Spark, about" in str(found)


def test_a_default_that_failed_took_its_time() -> None:
    done = [row(run, complete=False, wall_s=2.0) for run in SPACE.defaults()]
    assert cost(ordered(EVERY), done, 0, 0.0).predicted_s == 2.0 * len(EVERY)
    assert cost(ordered(EVERY), done[:1], 0, 0.0).predicted_s is None


@pytest.mark.parametrize("runs", [[], SPACE.defaults()[:1]])
def test_sessions_of_few(runs: list) -> None:  # type: ignore[type-arg]
    assert sessions(runs) == len(runs)
