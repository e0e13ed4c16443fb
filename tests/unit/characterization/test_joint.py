"""What is varied together: what is shown to matter, at equal budget."""

import json

from space import ASKED, SPACE, row

from trimtab.characterization.joint import joint_runs
from trimtab.characterization.plan import Run

TREE = "iris_decision_tree"


def rows(**factors: float) -> list[dict]:  # type: ignore[type-arg]
    """Rows in which a varied parameter changes quality and training time by its factor."""

    def of(run: Run) -> dict:  # type: ignore[type-arg]
        factor = factors.get(run.varied[0], 1.0) if run.varied else 1.0
        return row(run, quality=0.5 * factor, train_s=2.0 * factor)

    return [of(run) for run in [*SPACE.defaults(), *SPACE.one_at_a_time()]]


def varied(runs: list[Run], phase: str, workload: str = TREE) -> set[str]:
    found = [run for run in runs if run.phase == phase and run.workload.name == workload]
    return {name for run in found for name in run.varied}


def test_parameters_that_matter_are_varied_together() -> None:
    runs = joint_runs(SPACE, rows(cores=1.3, shuffle_compress=1.09, max_depth=1.06), 100)
    assert varied(runs, "platform") == {"cores"}
    assert varied(runs, "hyper") == {"max_depth"}
    assert varied(runs, "joint") == {"cores", "max_depth"}


def test_where_nothing_matters_the_likeliest_is_varied() -> None:
    """Something has to be."""
    runs = joint_runs(SPACE, rows(cores=1.05, shuffle_compress=1.09, max_bins=1.005), 100)
    assert varied(runs, "platform") == {"shuffle_compress"}
    assert varied(runs, "hyper") == {"max_bins"}


def test_a_large_change_that_may_be_chance_does_not_count() -> None:
    """One slow run of three makes the interval span zero; the median alone is far above."""
    known = rows(cores=1.15)
    for each in known:
        if each["varied"] == "shuffle_compress" and each["workload"] == TREE:
            each["train_s"] = (1.0, 4.0, 4.0)[each["repeat"]]
    assert varied(joint_runs(SPACE, known, 100), "platform") == {"cores"}


def test_one_run_shows_nothing_and_the_largest_change_is_taken() -> None:
    known = [row for row in rows(cores=1.3, shuffle_compress=1.5) if row["repeat"] == 0]
    assert varied(joint_runs(SPACE, known, 100), "platform") == {"shuffle_compress"}


def test_each_strategy_has_the_same_budget_where_there_are_as_many_settings() -> None:
    known = rows(cores=2.0, shuffle_compress=2.0, max_depth=2.0, max_bins=2.0)
    runs = [run for run in joint_runs(SPACE, known, 3) if run.workload.name == TREE]
    settings = {
        phase: {run.settings for run in runs if run.phase == phase}
        for phase in ("platform", "hyper", "joint")
    }
    assert {phase: len(each) for phase, each in settings.items()} == dict.fromkeys(settings, 3)
    assert len(runs) == 9 * ASKED.repeats
    assert all(run.varied for run in runs)
    assert runs == [run for run in joint_runs(SPACE, known, 3) if run.workload.name == TREE]


def test_a_method_without_hyperparameters_to_vary() -> None:
    runs = joint_runs(SPACE, rows(cores=2.0), 100)
    assert varied(runs, "hyper", "iris_kmeans") == set()
    assert varied(runs, "joint", "iris_kmeans") == {"cores"}


def test_a_workload_that_always_fails_is_left_out() -> None:
    known = [{**each, "complete": each["workload"] != TREE} for each in rows(cores=2.0)]
    assert {run.workload.name for run in joint_runs(SPACE, known, 4)} == {"iris_kmeans"}


def test_what_was_not_measured_has_no_impact() -> None:
    known = [{**each, "quality": None, "train_s": 0.0} for each in rows()]
    for run in joint_runs(SPACE, known, 2):
        assert json.loads(run.settings)["cores"] in (1, 2)
