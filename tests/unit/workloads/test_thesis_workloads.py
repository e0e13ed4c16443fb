"""The workloads of the thesis' tables 6.2 and 7.1 as their YAML names them, on few samples.

Paused after an epoch and resumed, each ends in the same bits as without a pause.
"""

import json
import runpy
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from shipped_configurations import SHIPPED

import trimtab_trial
from trimtab.config.groups.tuning import FIDELITIES
from trimtab.config.groups.workload import Workload
from trimtab.profiling.runs.from_workload import command_line

ROOT = Path(__file__).parents[3]
FEW = ["--train-samples=60", "--test-samples=20"]
SMALL: dict[str, list[str]] = {
    "lenet5_fashion_train": [*FEW, "--dropout=0.5"],
    "text_cnn_train": [*FEW, "--data={newsgroups}", "--dropout=0.5", "--embedding=50"],
    "text_lstm_train": [*FEW, "--data={newsgroups}", "--dropout=0.5", "--embedding=50"],
    "text_rnn_train": [*FEW, "--data={news}.csv", "--stride=32"],
    "m5_train": [*FEW, "--data={speech}", "--stride=16"],
    "resnet_train": ["--train-samples=12", "--test-samples=4"],
    "jacobi": ["--side=24"],
    "spk_means": ["--train-samples=200", "--clusters=10", "--batch-size=32"],
    "bfs": ["--scale=8", "--levels=2"],
}


@pytest.fixture
def workload(name: str) -> Workload:
    shipped: Workload = SHIPPED.option("workload", name)
    return shipped


def workloads() -> list[Workload]:
    return SHIPPED.options("workload", list(SMALL))


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Local copies in the form of the data sets: texts of three topics, and spoken digits."""
    folder = tmp_path_factory.mktemp("copies")
    words = [["engine", "car", "road"], ["god", "faith", "church"], ["orbit", "moon", "launch"]]
    rng = np.random.default_rng(0)
    items = []
    for number in range(90):
        text = " ".join(rng.choice(words[number % 3], 20))
        split = "test" if number >= 66 else "train"
        message = (
            folder / "newsgroups" / f"20news-bydate-{split}" / f"group{number % 3}" / str(number)
        )
        message.parent.mkdir(parents=True, exist_ok=True)
        message.write_text(f"Subject: about {number % 3}\n\n{text}\n")
        items.append(f'"{number % 3 + 1}","A title","{text}"\n')
        sound = folder / "speech" / f"{number % 3}_ann_{number // 3}.wav"
        sound.parent.mkdir(exist_ok=True)
        with wave.open(str(sound), "wb") as file:
            file.setparams((1, 2, 2000, 0, "NONE", ""))
            points = 9000 * np.sin(np.arange(1500) * (0.1 + number % 3))
            file.writeframes(points.astype("<i2").tobytes())
    (folder / "news.csv").write_text("".join(items))
    return {name: folder / name for name in ("newsgroups", "news", "speech")}


def run(
    workload: Workload, copies: dict[str, Path], output: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """Run the workload's program for two epochs and return its metrics."""
    program, *options = command_line(workload)[1:]
    small = [word.format_map(copies) for word in SMALL[workload.name]]
    share = ["--data-fraction=0.5", "--epochs=2", f"--output={output}"]
    monkeypatch.setattr(sys, "argv", [program, *options, *small, *share])
    runpy.run_path(str(ROOT / program), run_name="__main__")
    metrics: dict[str, Any] = json.loads(output.read_text())
    return metrics


@pytest.mark.parametrize("name", SMALL)
def test_a_pause_changes_no_bit(
    workload: Workload,
    copies: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outputs = [tmp_path / "whole.json", tmp_path / "resumed.json"]
    whole = run(workload, copies, outputs[0], monkeypatch)

    said: list[dict[str, float]] = []
    stop_after = 1

    def epoch_end(epoch: int, **metrics: float) -> None:
        said.append(metrics)
        if epoch + 1 == stop_after:
            raise SystemExit(0)

    monkeypatch.setattr(trimtab_trial, "tuned", lambda: True)
    monkeypatch.setattr(trimtab_trial, "folder", lambda: str(tmp_path))
    monkeypatch.setattr(trimtab_trial, "settings", dict)
    monkeypatch.setattr(trimtab_trial, "first_epoch", lambda: len(said))
    monkeypatch.setattr(trimtab_trial, "epoch_end", epoch_end)
    with pytest.raises(SystemExit):
        run(workload, copies, outputs[1], monkeypatch)
    stop_after = 3
    resumed = run(workload, copies, outputs[1], monkeypatch)

    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert [each["loss"] for each in said] == whole["train_loss"] == resumed["train_loss"]
    assert len(said) == 2
    assert workload.tuning is not None
    assert 0 <= said[1][workload.tuning.metric] <= 1
    assert said[1]["accuracy"] == whole["validation_accuracy"]
    if "test_samples" in whole:
        assert said[1]["test_accuracy"] == whole["test_accuracy"]
        share = whole["train_samples"] / whole["validation_samples"]
        assert share == pytest.approx(2.5, rel=0.1)  # half of the five sixths, by the sixth


@pytest.mark.parametrize("name", SMALL)
def test_every_tuned_parameter_is_an_option(
    workload: Workload, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert workload.tuning is not None
    program, *options = command_line(workload)[1:]
    for full_name, parameter in workload.tuning.parameters.items():
        kind, _, name = full_name.partition(".")
        if kind in ("model", "training"):
            options.append(f"--{name.replace('_', '-')}={parameter.default}")
    options += [f"--{name.replace('_', '-')}=1" for name in FIDELITIES]
    # Parsed by the program itself: --help at the end answers once the words before it are right.
    monkeypatch.setattr(sys, "argv", [program, *options, "--help"])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / program), run_name="__main__")
    assert end.value.code == 0, capsys.readouterr().err


def test_what_the_yaml_says_of_the_data_is_what_the_run_says(
    copies: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("lenet5_fashion_train", "resnet_train", "spk_means"):
        [workload] = [each for each in workloads() if each.name == name]
        data = run(workload, copies, tmp_path / "metrics.json", monkeypatch)["data"]
        assert workload.dataset.startswith(data["name"])


LOCAL = ["resnet_cifar10_train", "m5_spoken_digits_train", "text_rnn_ag_news_train"]


def test_a_local_copy_is_read_by_the_same_program() -> None:
    by_program = {command_line(workload)[1]: workload for workload in workloads()}
    for local in SHIPPED.options("workload", LOCAL):
        base = by_program[command_line(local)[1]]
        assert "data" in local.parameters and local.dataset != base.dataset
        assert base.tuning is not None and local.tuning is not None
        assert local.tuning.model == base.tuning.model


def test_inference_is_of_the_architecture_that_is_tuned() -> None:
    for workload in [*workloads(), *SHIPPED.options("workload", LOCAL)]:
        assert workload.tuning is not None
        if workload.tuning.inference_workload is None:
            assert not workload.tuning.inference
            continue
        used = SHIPPED.option("workload", workload.tuning.inference_workload)
        assert used.phase == "inference" and used.tuning is None and used.marks.epoch is None
        # Dropout makes no difference there.
        assert set(workload.tuning.model) - {"dropout"} <= set(used.parameters)
        assert used.parameters.get("data") == workload.parameters.get("data") or (
            "m5" not in workload.name  # texts and images have one shape
        )


def test_the_experiments_tune_what_the_tables_name() -> None:
    table_6_2, table_7_1 = SHIPPED.options("experiment", ["tune_thesis_6_2", "tune_thesis_7_1"])
    tuned = [*table_6_2.tune.workloads, *table_7_1.tune.workloads]
    assert set(tuned) == {"lenet5_train", *SMALL}


def test_texts_and_sound_of_topics_that_differ_are_learnt(
    copies: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a model that learns nothing, or labels in the wrong order, would be seen."""
    monkeypatch.setitem(SMALL, "text_cnn_train", ["--data={newsgroups}", "--learning-rate=0.01"])
    [workload] = [each for each in workloads() if each.name == "text_cnn_train"]
    metrics = run(workload, copies, tmp_path / "metrics.json", monkeypatch)
    assert metrics["test_accuracy"] > 0.9 and torch.get_num_threads() == 1
