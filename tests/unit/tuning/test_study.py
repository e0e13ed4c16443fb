"""A search in a journal: the same suggestions in any process, killed or not; failures; one turn."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from spaces import COUNTABLE, SMALL, choices, spaces, tuning
from test_space import wrong_with

from trimtab.config.groups.tuning import Kind
from trimtab.errors import UserError
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.samplers import ALGORITHMS, ENOUGH, draws_at_random
from trimtab.tuning.scoring.score import Failure
from trimtab.tuning.space import SearchSpace
from trimtab.tuning.study import NothingLeftError, Study, learnt_from

EVERY = list(Kind)
ONE, TWO, FOUR = Budget(1, 0.5), Budget(2, 0.5), Budget(4)


def study(folder: Path, algorithm: str = "tpe", **changes: Any) -> Study:
    given = {"name": "a", "keys": SMALL, "kinds": EVERY, "seed": 7} | changes
    space = SearchSpace(tuning(**given["keys"]))
    return Study(
        folder / "journal.log", given["name"], space, given["kinds"], algorithm, given["seed"]
    )


def worth(configuration: dict[str, Any]) -> float:
    """A score that depends on every parameter."""
    numbers = [value for value in configuration.values() if not isinstance(value, str)]
    return sum(1 / (1 + abs(float(value) - 2)) for value in numbers) / len(configuration)


def step(one: Study) -> dict[str, Any]:
    """Ask for a trial and tell what it is worth on one budget, or on two."""
    number, configuration = one.ask()
    if number % 5 == 4:
        one.tell(number, ONE, Failure("out of memory"))
        return configuration
    one.tell(number, ONE, worth(configuration))
    if number % 3 == 0:
        one.tell(number, FOUR, 2 * worth(configuration))
    return configuration


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_seed_and_scores_give_the_same_suggestions_in_any_process(
    tmp_path: Path, algorithm: str
) -> None:
    keys, steps = (COUNTABLE, 13) if algorithm == "grid" else (SMALL, 16)
    whole = study(tmp_path / "whole", algorithm, keys=keys)
    expected = [step(whole) for _ in range(steps)]
    resumed = [step(study(tmp_path / "resumed", algorithm, keys=keys)) for _ in range(steps)]
    assert resumed == expected
    other = study(tmp_path / "other", algorithm, keys=keys, seed=8)
    assert [step(other) for _ in range(steps)] != expected


def test_what_is_suggested_depends_on_what_was_told(tmp_path: Path) -> None:
    """Of TPE, after its first trials, which are random."""
    found = []
    for sign in (1, -1):
        one = study(tmp_path / str(sign))
        for _ in range(12):
            number, configuration = one.ask()
            one.tell(number, ONE, sign * configuration["training.learning_rate"])
        found.append([one.ask()[1] for _ in range(3)])
    assert found[0] != found[1]


def test_what_the_algorithm_sees_of_trials_in_every_state(tmp_path: Path) -> None:
    one = study(tmp_path)
    asked = [one.ask()[1] for _ in range(ENOUGH + 4)]
    for number in range(ENOUGH + 2):
        one.tell(number, ONE, number)
    for number in range(ENOUGH + 1):
        one.tell(number, TWO, -number)
    one.tell(0, FOUR, 99.0)  # went on: of it the score on the budget that is learnt from counts
    one.tell(1, FOUR, Failure("killed"))
    one.close(2)
    assert learnt_from(one.trials()) == TWO
    number = next(n for n in range(99) if not draws_at_random(one.seed, n))
    seen = one._in_memory(one.trials(), number).trials
    complete, running = [0, *range(2, ENOUGH + 1)], [ENOUGH + 2, ENOUGH + 3]
    assert [trial.params for trial in seen] == [asked[n] for n in complete + running]
    states = [trial.state.name for trial in seen]
    assert states == ["COMPLETE"] * ENOUGH + ["RUNNING"] * 2
    assert [trial.value for trial in seen[:ENOUGH]] == [-n for n in complete]


def test_the_budget_that_is_learnt_from_is_the_largest_with_enough_scores(tmp_path: Path) -> None:
    one = study(tmp_path, "random")
    for number in range(ENOUGH):
        one.ask()
        assert learnt_from(one.trials()) is None
        one.tell(number, ONE, 0.0)
    assert learnt_from(one.trials()) == ONE
    for number in range(ENOUGH):
        assert learnt_from(one.trials()) == ONE
        one.tell(number, FOUR, 0.0)
    assert learnt_from(one.trials()) == FOUR
    one.tell(0, TWO, Failure("crash"))
    assert learnt_from(one.trials()) is None


def test_a_share_is_drawn_as_if_nothing_was_told(tmp_path: Path) -> None:
    """And the others are not."""
    told, silent = study(tmp_path / "told"), study(tmp_path / "silent", "random")
    for number in range(40):
        drawn, by_chance = told.ask()[1], silent.ask()[1]
        told.tell(number, ONE, worth(drawn))
        if number < ENOUGH:
            assert drawn == by_chance
        else:
            assert (drawn == by_chance) == draws_at_random(told.seed, number)
    shares = [draws_at_random(seed, number) for seed in range(40) for number in range(100)]
    assert sum(shares) / len(shares) == pytest.approx(0.2, abs=0.02)


def test_tpe_finds_what_is_better(tmp_path: Path) -> None:
    one = study(tmp_path)
    for _ in range(40):
        number, configuration = one.ask()
        one.tell(number, ONE, -abs(configuration["training.learning_rate"] - 0.05))
        one.close(number)
    late = [told.configuration["training.learning_rate"] for told in one.trials()[25:]]
    assert sorted(late)[len(late) // 2] == pytest.approx(0.05, abs=0.03)


def test_tpe_by_two_scores_looks_near_their_front(tmp_path: Path) -> None:
    """That of rates between the best by each."""
    space = SearchSpace(tuning(**SMALL))
    one = Study(tmp_path / "journal.log", "a", space, EVERY, "tpe", 7, scores=["near", "far"])
    for _ in range(40):
        number, configuration = one.ask()
        rate = configuration["training.learning_rate"]
        one.tell(number, ONE, -abs(rate - 0.04), {"others": [-abs(rate - 0.06)]})
        one.close(number)
    late = [told.configuration["training.learning_rate"] for told in one.trials()[25:]]
    assert sorted(late)[len(late) // 2] == pytest.approx(0.05, abs=0.03)
    study = optuna.load_study(
        study_name="a", storage=JournalStorage(JournalFileBackend(str(tmp_path / "journal.log")))
    )
    assert study.metric_names == ["near", "far"]
    assert study.best_trials and len(study.best_trials[0].values) == 2


@given(spaces(), st.sampled_from(["random", "tpe"]), st.sets(st.sampled_from(EVERY), min_size=1))
@settings(max_examples=12)
def test_every_suggestion_is_a_configuration_of_the_yaml(
    tmp_path_factory: pytest.TempPathFactory, keys: dict[str, Any], algorithm: str, kinds: set[Kind]
) -> None:
    kinds = {kind for kind in kinds if keys[kind]}
    if not kinds:
        return
    one = study(tmp_path_factory.mktemp("study"), algorithm, keys=keys, kinds=kinds)
    for _ in range(13):
        number, configuration = one.ask()
        assert wrong_with(keys, configuration, set(kinds)) == ""
        one.tell(number, ONE, worth(configuration) if configuration else 0.0)


@pytest.mark.parametrize("algorithm", ["random", "tpe"])
def test_where_nearly_all_is_forbidden_something_allowed_is_found(
    tmp_path: Path, algorithm: str
) -> None:
    names = [f"p{number}" for number in range(6)]
    forbidden = [
        {f"training.{name}": value, f"training.{names[n - 1]}": other}
        for n, name in enumerate(names)
        for value in range(1, 8)
        for other in range(8)
    ]
    keys = {
        "training": {name: choices(*range(8)) for name in names},
        "model": {"dropout": {"low": 0.0, "high": 0.5, "default": 0.1}},
        "forbidden": forbidden,
    }
    one = study(tmp_path, algorithm, keys=keys)
    found = [step(one) for _ in range(3)]
    assert all(configuration[f"training.{name}"] == 0 for configuration in found for name in names)
    assert len({configuration["model.dropout"] for configuration in found}) == 3


def test_a_grid_is_every_configuration_once(tmp_path: Path) -> None:
    expected = list(SearchSpace(tuning(**COUNTABLE)).listed({}))
    found = []
    with pytest.raises(NothingLeftError, match=f"all {len(expected)} configurations"):
        while True:
            found.append(step(study(tmp_path, "grid", keys=COUNTABLE)))
    assert len(found) == len(expected)
    assert all(one in found for one in expected)


def test_a_grid_needs_what_can_be_listed(tmp_path: Path) -> None:
    said = "model.dropout, training.learning_rate cannot be listed|training.learning_rate, model"
    with pytest.raises(UserError, match=said):
        study(tmp_path, "grid")
    keys = {"training": {"a": {"low": 1, "high": 1_000_000, "whole": True, "default": 1}}}
    with pytest.raises(UserError, match="more than 10,000 configurations"):
        study(tmp_path, "grid", keys=keys).ask()


def test_asking_within_what_is_fixed(tmp_path: Path) -> None:
    one = study(tmp_path, "grid", kinds=[Kind.SYSTEM])
    fixed = {"training.batch_size": 128}
    found = [one.ask_within(fixed)[1] for _ in range(3)]
    assert sorted(configuration["system.cores"] for configuration in found) == [2, 3, 4]
    assert all(configuration["training.batch_size"] == 128 for configuration in found)
    with pytest.raises(NothingLeftError):
        one.ask_within(fixed)
    with pytest.raises(UserError, match="did you mean system"):
        one.ask_within({"system.core": 1})


@pytest.mark.parametrize("algorithm", ["random", "tpe"])
def test_given_configurations_come_first(tmp_path: Path, algorithm: str) -> None:
    """Also in the next process; those of kinds that are not searched are left out."""
    space = SearchSpace(
        tuning(training={"width": choices(*range(9))}, system={"cores": choices(1, 2)})
    )
    given = [{"training.width": 7}, {"training.width": 3, "system.cores": 2}]

    def again() -> Study:
        return Study(tmp_path / "journal", "s", space, [Kind.TRAINING], algorithm, 1, given)

    assert again().ask() == (0, {"training.width": 7})
    assert again().ask() == (1, {"training.width": 3})
    assert set(again().ask()[1]) == {"training.width"}
    with pytest.raises(UserError, match="expected"):
        Study(
            tmp_path / "other", "s", space, [Kind.TRAINING], algorithm, 1, [{"training.width": 70}]
        )


def test_where_what_is_fixed_leaves_nothing(tmp_path: Path) -> None:
    keys = {
        "model": {"layers": choices(1, 2)},
        "system": {"cores": choices(1, 2)},
        "forbidden": [{"model.layers": 2, "system.cores": cores} for cores in (1, 2)],
    }
    one = study(tmp_path, keys=keys, kinds=[Kind.SYSTEM])
    with pytest.raises(UserError, match=r"nothing is allowed beside model\.layers 2"):
        one.ask_within({"model.layers": 2})
    assert one.trials() == []
    one.ask()


def test_what_is_told_is_found_again(tmp_path: Path) -> None:
    one = study(tmp_path)
    asked = [one.ask({"jobs": [[0, 0]]}), *(one.ask() for _ in range(3))]
    one.tell(0, TWO, 0.5)
    one.tell(0, ONE, 0.25)
    one.tell(0, TWO, 0.75)
    one.note(0, "checkpoint", "/somewhere/0")
    one.note(0, "rung", {"bracket": 1, "level": 2})
    one.tell(1, ONE, Failure("killed: out of memory"))
    one.tell(2, ONE, float("nan"))
    one.tell(3, ONE, 1.0)
    one.close(3)
    told = study(tmp_path).trials()
    assert [(each.number, each.configuration) for each in told] == asked
    assert told[0].scores == {ONE: 0.25, TWO: 0.75}
    assert told[0].budget == TWO
    assert told[0].attributes == {
        "jobs": [[0, 0]],
        "checkpoint": "/somewhere/0",
        "rung": {"bracket": 1, "level": 2},
    }
    assert [each.is_running for each in told] == [True, False, False, False]
    failures = [each.failure for each in told]
    assert failures == [None, Failure("killed: out of memory"), Failure("the score is nan"), None]
    assert one.ask()[0] == 4


def test_a_row_is_told_with_a_score_or_a_failure_and_amended(tmp_path: Path) -> None:
    one = study(tmp_path)
    for _ in range(3):
        one.ask()
    one.tell(0, ONE, 0.25, {"wall_s": 1.0})
    one.tell(0, TWO, 0.75, {"wall_s": 2.0})
    one.amend(0, ONE, {"wall_s": 1.5})
    one.tell(1, ONE, 0.5, {"wall_s": 3.0})
    one.tell(1, TWO, Failure("crash"), {"wall_s": 4.0})
    told = study(tmp_path).trials()
    assert told[0].scores == {ONE: 0.25, TWO: 0.75}
    assert told[0].rows == {ONE: {"wall_s": 1.5}, TWO: {"wall_s": 2.0}}
    assert told[1].rows == {ONE: {"wall_s": 3.0}, TWO: {"wall_s": 4.0}}
    one.amend(1, TWO, {"wall_s": 5.0})
    one.close(0)
    for number in (0, 1):  # both are closed
        one.amend(number, TWO, {"wall_s": 6.0})
    told = study(tmp_path).trials()
    assert [each.rows[TWO] for each in told[:2]] == [{"wall_s": 2.0}, {"wall_s": 5.0}]
    assert told[1].failure == Failure("crash") and told[1].scores == {ONE: 0.5}
    assert not told[1].is_running and told[2].is_running


@pytest.mark.parametrize(("number", "said"), [(1, "failed: crash"), (2, "closed"), (3, "it has 3")])
def test_what_runs_no_more_is_told_nothing(tmp_path: Path, number: int, said: str) -> None:
    one = study(tmp_path)
    for _ in range(3):
        one.ask()
    with pytest.raises(UserError, match="trial 0 was told no score"):
        one.close(0)
    one.tell(1, ONE, Failure("crash"))
    one.tell(2, ONE, 1.0)
    one.close(2)
    before = one.trials()
    for call in (
        lambda: one.tell(number, TWO, 1.0),
        lambda: one.tell(number, TWO, Failure("x")),
        lambda: one.note(number, "a", 1),
        lambda: one.close(number),
    ):
        with pytest.raises(UserError, match=said):
            call()
    assert one.trials() == before


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 8}, "other seed;"),
        ({"algorithm": "random"}, "other algorithm;"),
        ({"kinds": [Kind.MODEL]}, "other kinds;"),
        ({"keys": {**SMALL, "forbidden": []}}, "other forbidden;"),
        ({"keys": COUNTABLE, "seed": 9}, "other parameters, forbidden, seed;"),
    ],
)
def test_a_study_goes_on_as_what_it_was(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    study(tmp_path)
    with pytest.raises(UserError, match=f"study a was made with {said}"):
        study(tmp_path, **changes)
    study(tmp_path, **changes, name="b").ask()
    assert study(tmp_path).trials() == []


def test_an_algorithm_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'tpee' given; did you mean tpe"):
        study(tmp_path, "tpee")


@pytest.mark.parametrize("content", [b"my notes", b"a\nb\n", b"{}\n", b"\n", b"\xff\xfe\n"])
def test_a_file_of_somebody_else_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "journal.log"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"journal.log: not a journal of Optuna's"):
        study(tmp_path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "line", [b"{", b"3", b"{}", b'{"op_code":99}', b'{"op_code":4,"trial_id":0}']
)
def test_a_damaged_journal_is_told(tmp_path: Path, line: bytes) -> None:
    one = study(tmp_path, "random")
    step(one)
    path = tmp_path / "journal.log"
    records = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*records[:2], line, *records[2:]]) + b"\n")
    before = path.read_bytes()
    with pytest.raises(UserError, match=r"journal.log: a damaged journal .*; remove it"):
        study(tmp_path, "random")
    assert path.read_bytes() == before


@given(keep=st.floats(0, 1))
@settings(max_examples=8)
def test_half_a_record_is_cut_off_and_the_search_goes_on(
    tmp_path_factory: pytest.TempPathFactory, keep: float
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    expected = [step(study(folder / "whole", "random")) for _ in range(3)]
    one = study(folder / "torn", "random")
    for _ in range(2):
        step(one)
    path = folder / "torn" / "journal.log"
    length = path.stat().st_size
    assert one.ask()[1] == expected[2]
    asked = path.read_bytes()
    with path.open("r+b") as file:
        file.truncate(length + int((len(asked) - length - 1) * keep))
    assert [told.number for told in study(folder / "torn", "random").trials()] == [0, 1]
    assert step(study(folder / "torn", "random")) == expected[2]


PROGRAM = """
import os, signal, sys
from pathlib import Path
from test_study import study, step, worth, ONE
folder, mode = Path(sys.argv[1]), sys.argv[2]
one = study(folder, sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
if mode == "many":
    for _ in range(5):
        number, configuration = one.ask()
        print(number, flush=True)
        one.tell(number, ONE, worth(configuration))
else:
    for _ in range(11):
        step(one)
    number, configuration = one.ask()
    one.note(number, "checkpoint", "x")
    print(number, flush=True)
    if mode == "holding":
        with one._journal.lock():
            os.kill(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def started(folder: Path, mode: str, algorithm: str) -> "subprocess.Popen[str]":
    here = Path(__file__).parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), *sys.path])}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), mode, algorithm],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("mode", ["asked", "holding"])
def test_a_killed_search_goes_on_where_it_was(tmp_path: Path, mode: str) -> None:
    """SIGKILL between asking and telling, and while the journal is held."""
    whole = study(tmp_path / "whole")
    expected = [step(whole) for _ in range(14)]
    with started(tmp_path / "killed", mode, "tpe") as process:
        process.communicate("go\n")
    assert process.returncode == -signal.SIGKILL
    resumed = study(tmp_path / "killed")
    asked = resumed.trials()[-1]
    assert (asked.number, asked.is_running, asked.scores) == (11, True, {})
    assert asked.attributes == {"checkpoint": "x"}
    assert [told.configuration for told in resumed.trials()] == expected[:12]
    resumed.tell(11, ONE, worth(asked.configuration))
    assert [step(resumed) for _ in range(2)] == expected[12:]


@pytest.mark.parametrize("algorithm", ["random", "tpe"])
def test_processes_that_share_a_journal_never_get_the_same_trial(
    tmp_path: Path, algorithm: str
) -> None:
    processes = [started(tmp_path, "many", algorithm) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    numbers = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(int(number) for mine in numbers for number in mine) == list(range(10))
    told = study(tmp_path, algorithm).trials()
    assert all(each.scores == {ONE: worth(each.configuration)} for each in told)
    assert len({json.dumps(each.configuration, sort_keys=True) for each in told}) == 10


def test_the_attributes_that_scores_are_kept_in_are_taken(tmp_path: Path) -> None:
    one = study(tmp_path)
    with pytest.raises(ValueError, match="own attribute"):
        one.ask({"told": []})
    one.ask()
    with pytest.raises(ValueError, match="own attribute"):
        one.note(0, "failure", "none")
    with pytest.raises(TypeError):
        one.note(0, "a", {1, 2})
    assert [each.attributes for each in study(tmp_path).trials()] == [{}]


def test_optuna_reads_the_journal_by_itself(tmp_path: Path) -> None:
    """So that its dashboard and its plots can show a search."""
    import optuna
    from optuna.storages.journal import JournalFileBackend

    one = study(tmp_path)
    for number in range(3):
        step(one)
        one.close(number)
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(tmp_path / "journal.log")))
    shown = optuna.load_study(study_name="a", storage=storage)
    told = one.trials()
    assert shown.best_value == max(max(each.scores.values()) for each in told)
    assert [trial.params for trial in shown.trials] == [each.configuration for each in told]
