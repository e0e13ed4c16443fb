"""The programs as their users run them, and the YAMLs that name them."""

import ast
import json
import re
import runpy
import subprocess
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path

import pytest
import torch
from shipped_configurations import SHIPPED

from trimtab.config.groups.workload import Workload
from trimtab.profiling.runs.from_workload import command_line
from trimtab.workloads import lenet5
from trimtab.workloads.common import classification, program
from trimtab.workloads.data import mnist

ROOT = Path(__file__).parents[3]
PROGRAMS = ROOT / "src" / "trimtab" / "workloads"
CONFIGURED = [
    "lenet5_train",
    "lenet5_inference",
    "mobilenetv2_train",
    "mobilenetv2_inference",
    "lstm_train",
    "transformer_train",
    "transformer_inference",
]


def words_of(name: str, output: Path, *arguments: object) -> list[str]:
    """The command of a program on a few samples."""
    small = ["--train-samples", 40, "--test-samples", 8, "--output", output]
    return [str(word) for word in [PROGRAMS / f"{name}.py", *small, *arguments]]


def printed_by_a_process(name: str, output: Path, *arguments: object) -> list[str]:
    """Run a program that has to succeed and return its lines of standard output."""
    command = [sys.executable, *words_of(name, output, *arguments)]
    done = subprocess.run(command, capture_output=True, cwd=output.parent, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def printed_here(
    patch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    output: Path,
    *arguments: object,
) -> list[str]:
    """Run a program in this process, which has PyTorch imported, and return what it printed."""
    words = words_of(name, output, *arguments)
    patch.setattr(sys, "argv", words)
    patch.chdir(output.parent)
    runpy.run_path(words[0], run_name="__main__")
    return capsys.readouterr().out.splitlines()


def workload(name: str) -> Workload:
    return SHIPPED.option("workload", name)


def options_of(name: str) -> Namespace:
    return program.parser("", 1).parse_args(command_line(workload(name))[2:])


@pytest.mark.parametrize(
    "name",
    [
        "lenet5",
        pytest.param("lstm", marks=pytest.mark.nightly),
        pytest.param("mobilenetv2", marks=pytest.mark.nightly),
        pytest.param("transformer", marks=pytest.mark.nightly),
    ],
)
def test_equal_runs_write_equal_bytes_and_mark_their_progress(name, tmp_path, monkeypatch, capsys):
    outputs = [tmp_path / "one.json", tmp_path / "two.json"]
    first = printed_by_a_process(name, outputs[0], "--epochs", 2)
    second = printed_here(monkeypatch, capsys, name, outputs[1], "--epochs", 2)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert first == second

    marks = workload(f"{name}_train").marks
    assert [bool(re.search(marks.first_iteration, line)) for line in first] == [1, 0, 0]
    epochs = [re.search(marks.epoch, line) for line in first]

    metrics = json.loads(outputs[0].read_text())
    assert [epoch and float(epoch["loss"]) for epoch in epochs] == [
        None, *(round(loss, 6) for loss in metrics["train_loss"])
    ]  # fmt: skip
    numbers = [metrics[f"{split}_samples"] for split in ("train", "validation", "test")]
    assert numbers == [34, 6, 8]
    assert metrics["torch"] == torch.__version__
    assert 0 <= metrics["test_accuracy"] <= 1
    # Written in full: a number rounded for display would not survive this.
    assert all(len(repr(loss)) > 10 for loss in [metrics["test_loss"], *metrics["train_loss"]])
    # What the YAML says about the data is what the run says.
    said = workload(f"{name}_train").dataset
    assert any(word in said for word in (metrics["data"]["name"], "Django's message catalogues"))


@pytest.mark.parametrize("name", ["lenet5", "transformer"])
def test_inference_with_saved_weights_gives_the_trained_models_result(
    name, tmp_path, monkeypatch, capsys
):
    run = partial(printed_here, monkeypatch, capsys, name)
    trained, weights = tmp_path / "trained.json", tmp_path / "weights.pt"
    run(trained, "--save-weights", weights)
    tested, untrained = tmp_path / "tested.json", tmp_path / "untrained.json"
    said = [
        run(tested, "--phase", "inference", "--weights", weights, "--seed", 5),
        run(untrained, "--phase", "inference"),
    ]
    assert said == [["first iteration"]] * 2
    metrics = [json.loads(path.read_text()) for path in (trained, tested, untrained)]
    assert metrics[0]["test_loss"] == metrics[1]["test_loss"] != metrics[2]["test_loss"]
    assert metrics[1]["weights"] == f"read from {weights}"
    assert metrics[2]["weights"] == "initialised from seed 0"
    assert "train_loss" not in metrics[1]
    if name == "transformer":
        assert len(metrics[1]["translations"]) == 8


def main(monkeypatch, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", ["lenet5.py", *map(str, arguments)])
    program.main(
        "", 16, lambda given: classification.run(given, lambda _: lenet5.build(), mnist.load)
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--data", "/nowhere"], "--data /nowhere: found neither train-images-idx3-ubyte nor"),
        (["--phase", "inference", "--weights", "/nowhere"], "--weights /nowhere"),
        (["--phase", "inference", "--weights", __file__], f"--weights {__file__}"),
        (["--epochs", "0"], "'0': expected a whole number of at least 1"),
        (["--threads", "two"], "'two': expected a whole number of at least 1"),
        (["--phase", "evaluate"], "'evaluate'"),
        (["--device", "gpu"], "'gpu'"),
    ],
)
def test_mistakes_end_with_2_and_name_the_option(
    arguments, expected, tmp_path, monkeypatch, capsys
):
    output = tmp_path / "metrics.json"
    with pytest.raises(SystemExit) as end:
        main(monkeypatch, "--output", output, *arguments)
    assert end.value.code == 2
    message = capsys.readouterr().err
    assert expected in message and "Traceback" not in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_device_that_is_not_there_is_named(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit) as end:
        main(monkeypatch, "--output", tmp_path / "metrics.json", "--device", "cuda")
    assert end.value.code == 2
    assert "--device cuda: PyTorch" in capsys.readouterr().err


def test_weights_of_another_model_are_refused(tmp_path, monkeypatch, capsys):
    weights = tmp_path / "other.pt"
    torch.save(torch.nn.Linear(2, 2).state_dict(), weights)
    with pytest.raises(SystemExit):
        main(monkeypatch, "--output", tmp_path / "metrics.json", "--weights", weights)
    assert f"--weights {weights}: no weights of this model" in capsys.readouterr().err


def test_output_that_cannot_be_written_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as end:
        main(
            monkeypatch,
            *("--phase", "inference", "--test-samples", 2, "--output", tmp_path / "file/metrics"),
        )
    assert end.value.code == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


def test_the_programs_import_nothing_of_trimtab_but_their_own_package():
    for path in PROGRAMS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [node.module] if isinstance(node, ast.ImportFrom) else []
            modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                assert module.startswith("trimtab.workloads") or not module.startswith("trimtab.")
                assert module.split(".")[0] not in ("hydra", "omegaconf", "pandas", "snakemake")


@pytest.mark.parametrize("name", CONFIGURED)
def test_yaml_names_its_program_and_its_options(name):
    configured = workload(name)
    assert (ROOT / command_line(configured)[1]).parent == PROGRAMS
    assert (ROOT / command_line(configured)[1]).is_file()
    options = options_of(name)
    assert options.phase == configured.phase == name.rsplit("_", 1)[1]
    assert str(options.output) == configured.output.path
    assert str(options.threads) == configured.env["OMP_NUM_THREADS"]
    assert (configured.marks.epoch is not None) == (options.phase == "train")


def test_inference_takes_the_batches_of_the_description():
    assert options_of("mobilenetv2_inference").batch_size == 4
    assert options_of("mobilenetv2_inference").test_samples == 4
    assert options_of("transformer_inference").batch_size == 32
    assert options_of("lenet5_inference").test_samples is None
