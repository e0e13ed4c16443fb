"""Inference against the forward phase of training, of epochs with rates to compute by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from experiment_files import inputs
from test_tuned_report import row, written

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.tuning.profiles.parts import Parts, kind_of


def trial(number: int, part: str, batch: int, *faults: float) -> dict[str, Any]:
    epochs = [
        {"epoch": at, "wall_s": 1.0, "energy_j": 1.0, "accuracy": 0.5, "settings": {"cores": 1},
         "rates": {"minor_faults": rate, "instructions": 1e9}}
        for at, rate in enumerate(faults)
    ]  # fmt: skip
    configuration = {"model.part": part, "training.batch_size": batch}
    return row(number, 0, 2, 0.5, configuration=json.dumps(configuration),
               settings='{"cores": 1}', by_epoch=json.dumps(epochs))  # fmt: skip


def parts(folder: Path, *trials: dict[str, Any]) -> Parts:
    return Parts(load(inputs([], [], tune=(written(folder, "grid", list(trials)),))))


def test_inference_against_the_forward_phase(tmp_path: Path) -> None:
    section = parts(
        tmp_path,
        trial(0, "forward", 32, 70.0, 90.0, 500.0), trial(1, "inference", 32, 15.0),
        trial(2, "training", 32, 400.0), trial(3, "training", 1, 9.0), trial(4, "forward", 1, 9.0),
    )  # fmt: skip
    [table] = section.tables
    faults, instructions = table.ours  # of batches of one inference was not counted
    assert (faults["kind"], faults["forward_hz"], faults["training_hz"]) == ("memory", 90.0, 400.0)
    assert faults["factor"] == pytest.approx((90 + 10) / (15 + 10))
    assert (instructions["kind"], instructions["factor"]) == ("processor", pytest.approx(1))
    [figure] = section.figures
    assert figure.name == "phase_events" and "Figure 2.4" in figure.title
    assert "NaN" not in figure.svg and "undefined" not in figure.svg


def test_other_searches_have_no_parts(tmp_path: Path) -> None:
    assert not parts(tmp_path / "one", trial(0, "forward", 32, 1.0)).applies
    assert not parts(tmp_path / "none", row(0, 0, 2, 0.9)).applies


def test_of_what_an_event_is() -> None:
    kinds = {"minor_faults": "memory", "cache_misses": "memory", "branch_misses": "processor",
             "voluntary_switches": "processor", "write_bytes": "storage"}  # fmt: skip
    assert {event: kind_of(event) for event in kinds} == kinds
