"""What `trimtab tune` is told of a program, as the workload that it means."""

import re
import shlex
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trimtab.cli.tuning.command import tune
from trimtab.cli.tuning.program import TunedProgram, parameter_of
from trimtab.errors import UserError

PROJECT = Path(__file__).parents[3]
RATE, BATCH = "training.learning_rate=0.0001:0.1:log", "training.batch_size=16,32,64"


def workload(*parameters: str, epochs: str | None = "2:10", **keys: Any) -> Any:
    return TunedProgram(list(parameters), epochs, **keys).workload([sys.executable, "train.py"])


def test_the_workload_that_is_meant() -> None:
    made = workload(
        RATE, BATCH, "system.cores=1:4", "model.norm=none,batch", data_fraction=0.1,
        metric="f1", epoch_mark=r"f1 (?P<f1>\S+)", timeout_s=60.0,
    )  # fmt: skip
    assert made.command == [sys.executable, "train.py"]
    assert (made.python, made.workdir, made.timeout_s) == (sys.executable, str(Path.cwd()), 60.0)
    assert made.marks.epoch == r"f1 (?P<f1>\S+)"
    tuning = made.tuning
    assert (tuning.epochs.least, tuning.epochs.most, tuning.data_fraction.least) == (2, 10, 0.1)
    assert tuning.metric == "f1" and list(tuning.parameters) == [
        "model.norm", "training.learning_rate", "training.batch_size", "system.cores",
    ]  # fmt: skip
    rate, cores = tuning.training["learning_rate"], tuning.system["cores"]
    assert (rate.low, rate.high, rate.log, rate.whole) == (0.0001, 0.1, True, False)
    assert rate.default == pytest.approx(10**-2.5)
    assert (cores.low, cores.high, cores.whole, cores.default) == (1, 4, True, 4)
    assert tuning.training["batch_size"].choices == [16, 32, 64]
    assert tuning.model["norm"].default == "none"


def test_conditions_and_forbidden_values() -> None:
    made = workload(
        "training.optimizer=adam,sgd", "training.momentum=0:0.99 if optimizer=sgd",
        "model.depth=1:3 if training.optimizer=sgd,adam and training.batch_size=16", BATCH,
        "inference.batch_size=1,2", inference_command="true",
        forbid=["batch_size=64, optimizer=sgd", "depth=3,training.batch_size=16"],
    ).tuning  # fmt: skip
    assert made.training["momentum"].when == {"training.optimizer": ["sgd"]}
    assert made.training["momentum"].high == 0.99
    assert made.model["depth"].when == {
        "training.optimizer": ["sgd", "adam"], "training.batch_size": [16],
    }  # fmt: skip
    assert made.forbidden == [
        {"training.batch_size": 64, "training.optimizer": "sgd"},
        {"model.depth": 3, "training.batch_size": 16},
    ]
    assert "training.momentum" not in made.completed({"training.optimizer": "adam"})


def test_a_program_of_no_interpreter() -> None:
    assert TunedProgram([BATCH], "1:2").workload(["sh", "-c", "true"]).python is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("model.a=1:4", {"low": 1, "high": 4, "whole": True, "log": False, "default": 2}),
        ("model.a=0:1.0", {"low": 0, "high": 1.0, "whole": False, "log": False, "default": 0.5}),
        ("model.a=1:100:log", {"low": 1, "high": 100, "whole": True, "log": True, "default": 10}),
        ("model.a=3", {"choices": [3], "default": 3}),
        ("model.a=true,false", {"choices": [True, False], "default": True}),
        ("model.a=a:b,c:d", {"choices": ["a:b", "c:d"], "default": "a:b"}),
        ("model.a=1e-3,x", {"choices": [0.001, "x"], "default": 0.001}),
    ],
)
def test_values(text: str, expected: dict[str, Any]) -> None:
    assert parameter_of(text) == ("model", "a", expected)


@given(st.text())
def test_any_text_is_a_parameter_or_a_mistake(text: str) -> None:
    for spelled in (text, f"training.a={text}"):
        try:
            kind, _, keys = parameter_of(spelled)
        except UserError as error:
            assert "expected KIND.NAME=" in str(error)
        else:
            assert spelled.startswith(f"{kind}.") and "default" in keys
            try:
                workload(spelled)
            except UserError as error:
                assert "the options of what is tuned" in str(error)


@pytest.mark.parametrize(
    ("parameters", "keys", "said"),
    [
        (["learning_rate=1,2"], {}, "where KIND is model, training, system or inference"),
        (["training.a=1:2:3"], {}, "expected KIND.NAME=LOW:HIGH"),
        (["training.a=1:b"], {}, "expected KIND.NAME=LOW:HIGH"),
        (["training.a=2:1"], {}, "training.a.high: 1.0 given, expected a number of at least 2"),
        (["training.a=0.0:1.0:log"], {}, "training.a.low"),
        (["training.a=1,1"], {}, "every value once"),
        (["training.a=,"], {}, "each a value"),
        (["training.a=nan:1"], {}, "expected KIND.NAME=LOW:HIGH"),
        (["inference.batch_size=1"], {}, "expected --inference-command"),
        ([BATCH], {"inference_command": "true"}, "expected one, as --parameter inference.batch_"),
        (["system.core=1:2"], {}, "did you mean"),
        (["model.a=1:2 if b=1"], {}, "--parameter model.a: unknown parameter b"),
        (["model.a=1:2 if b"], {}, "if NAME=A,B"),
        ([BATCH, "model.a=1:2 if batch_size=17"], {}, "training.batch_size: 17 given"),
        ([BATCH, "system.cores=1:2"], {"forbid": ["core=1"]}, "did you mean cores?"),
        ([BATCH], {"forbid": ["batch_size"]}, "expected NAME=VALUE"),
        ([BATCH], {"forbid": ["batch_size=16"]}, "a first choice is a default"),
        (["model.a=0:0.5", BATCH], {"forbid": ["a=0"]}, "one that is `whole`"),
        ([BATCH, BATCH], {}, "training.batch_size is given twice"),
        ([BATCH], {"epochs": None}, "--epochs is missing"),
        ([BATCH], {"epochs": "10"}, "--epochs 10: expected LEAST:MOST"),
        ([BATCH], {"epochs": "10:2"}, "epochs.most: 2 given"),
        ([BATCH], {"data_fraction": 2.0}, "data_fraction.least"),
        ([BATCH], {"epoch_mark": "("}, "--epoch-mark: '(' given, expected a regular expression"),
        ([BATCH], {"timeout_s": 0.0}, "--timeout-s: "),
        ([], {}, "nothing to tune"),
    ],
)
def test_mistakes_are_named(parameters: list[str], keys: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as error:
        workload(*parameters, **keys)
    assert said in str(error.value)


def test_the_program_that_uses_the_model() -> None:
    command = shlex.join([sys.executable, "my serve.py"])
    words = ["model.layers=18,34", RATE, "inference.batch_size=4,1"]
    given = TunedProgram(words, "1:2", inference_command=command)
    trains = given.workload([sys.executable, "train.py"])
    uses = given.inference_workload(trains)
    assert uses is not None and trains.tuning is not None
    assert trains.tuning.inference_workload == uses.name and uses.phase == "inference"
    # Its architecture is all of the model's parameters.
    assert uses.command == [sys.executable, "my serve.py"]
    assert uses.parameters == {"layers": 18, "batch_size": 4}
    for wrong in ("'", "", "no-such-program --x"):
        with pytest.raises(UserError, match="--inference-command"):
            TunedProgram(words, "1:2", inference_command=wrong).inference_workload(trains)


def test_what_is_no_program() -> None:
    with pytest.raises(UserError, match=r"lenet: no such program; .* without --parameter"):
        TunedProgram([BATCH], "1:2").workload(["lenet"])


def test_help_names_every_objective_of_tuning() -> None:
    """Those with a score: others are of schedules."""
    (option,) = get_type_hints(tune, include_extras=True)["objective"].__metadata__
    named = {path.stem for path in (PROJECT / "conf/objective").glob("*.yaml")
             if "score" in yaml.safe_load(path.read_text())}  # fmt: skip
    assert {name for name in named if name not in re.findall(r"\w+", option.help)} == set()
