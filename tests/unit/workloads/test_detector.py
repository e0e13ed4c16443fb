"""The small detector: what its boxes are, what it is trained for, and the network that it saves."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from trimtab.workloads import lenet5
from trimtab.workloads.data import mnist
from trimtab.workloads.detection import detector, net
from trimtab.workloads.detection.boxes import decoded, found, overlap
from trimtab.workloads.detection.loss import loss_of

LOW, HIGH = -30.0, 30.0  # logits of 0 and of 1


def cells_with(
    *objects: tuple[int, int, int, int], side: int = 4, classes: int = 3
) -> torch.Tensor:
    """A grid that finds one object (row, column, box, class) each, half as large as the image."""
    cells = torch.zeros(1, 5 * net.BOXES + classes, side, side)
    cells[:, 4 : 5 * net.BOXES : 5] = LOW
    for row, column, box, label in objects:
        cells[0, 5 * box + 4, row, column] = HIGH
        cells[0, 5 * net.BOXES + label, row, column] = HIGH
    return cells


def ran(program: Path, output: Path, monkeypatch: pytest.MonkeyPatch, *words: object) -> dict:
    words = ("--output", output, *words)
    monkeypatch.setattr(sys, "argv", [program.name, *map(str, words)])
    runpy.run_path(str(program), run_name="__main__")
    return json.loads(output.read_text())


def test_a_box_is_where_its_cell_is() -> None:
    [boxes] = found(cells_with((1, 2, 0, 1), (3, 0, 1, 2)), 0.5, 0.5)
    expected = [[2.5 / 4, 1.5 / 4, 0.5, 0.5, 1, 1], [0.5 / 4, 3.5 / 4, 0.5, 0.5, 1, 2]]
    torch.testing.assert_close(boxes, torch.tensor(expected))


def test_of_boxes_of_a_class_that_overlap_the_best_is_kept() -> None:
    cells = cells_with((1, 1, 0, 0), (1, 1, 1, 0), (1, 2, 0, 1))
    cells[0, 4, 1, 1] = 2.0  # the other box of this cell is surer
    [kept] = found(cells, 0.5, 0.3)
    assert [(round(box[0].item() * 4, 3), box[5].item()) for box in kept] == [(1.5, 0), (2.5, 1)]
    assert kept[0, 4] > 0.99
    [every] = found(cells, 0.5, 1.0)
    assert len(every) == 3
    assert every[:, 4].tolist() == sorted(every[:, 4].tolist(), reverse=True)
    assert [len(image) for image in found(cells, 0.95, 1.0)] == [2]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ((0.5, 0.5, 0.4, 0.2), 1.0),
        ((0.7, 0.5, 0.4, 0.2), 1 / 3),
        ((0.5, 0.6, 0.4, 0.2), 1 / 3),
        ((0.9, 0.5, 0.4, 0.2), 0.0),
        ((0.9, 0.9, 0.1, 0.1), 0.0),
        ((0.5, 0.5, 0.2, 0.1), 1 / 4),
    ],
)
def test_overlap_is_intersection_over_union(other: tuple[float, ...], expected: float) -> None:
    one = torch.tensor((0.5, 0.5, 0.4, 0.2))
    assert overlap(one, torch.tensor(other)).item() == pytest.approx(expected, abs=1e-6)
    assert overlap(torch.tensor(other), one).item() == pytest.approx(expected, abs=1e-6)


def test_what_is_found_where_it_is_costs_nothing_and_all_else_costs() -> None:
    right = cells_with((1, 2, 0, 1))
    boxes, labels = torch.tensor([[[2.5 / 4, 1.5 / 4, 0.5, 0.5]]]), torch.tensor([[1]])
    assert loss_of(right, boxes, labels).item() == pytest.approx(0, abs=1e-6)
    beside = boxes + torch.tensor([0.05, 0, 0, 0])
    larger = boxes + torch.tensor([0, 0, 0.2, 0])
    assert loss_of(right, beside, labels) > 5 * (0.05 * 4) ** 2 - 1e-6
    assert loss_of(right, larger, labels) > 5 * (0.7**0.5 - 0.5**0.5) ** 2 - 1e-6
    assert loss_of(right, boxes, labels + 1).item() == pytest.approx(2, abs=1e-5)
    assert loss_of(cells_with((1, 2, 0, 1), (3, 3, 1, 0)), boxes, labels).item() == pytest.approx(
        0.5, abs=1e-5
    )


def test_training_lowers_the_loss_and_repeats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--scenes", 12, "--side", 48, "--width", 4, "--epochs", 3)
    program = Path(detector.__file__)
    one = ran(program, tmp_path / "one.json", monkeypatch, *words)
    first, *_, last = one["train_loss"]
    assert last < 0.9 * first
    assert one == ran(program, tmp_path / "two.json", monkeypatch, *words)


def test_a_saved_detector_has_what_it_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "detector.safetensors"
    words = ("--scenes", 2, "--side", 32, "--width", 4, "--save-network", path)
    ran(Path(detector.__file__), tmp_path / "metrics.json", monkeypatch, *words)
    saved = load_file(path)
    model = net.build(10, 4)
    with torch.no_grad():
        for number, layer in enumerate(part for part in model if hasattr(part, "weight")):
            layer.weight.copy_(torch.from_numpy(saved[f"weights.{number}"]))
            layer.bias.copy_(torch.from_numpy(saved[f"biases.{number}"]))
        cells = model(torch.from_numpy(saved["images"]))
    np.testing.assert_allclose(saved["outputs"], cells.numpy(), rtol=1e-4, atol=1e-4)
    assert saved["grid"][:3].tolist() == [4, net.BOXES, 10]
    assert saved["boxes"].shape[2] == 6 and len(saved["box_counts"]) == len(saved["images"])


def test_a_saved_lenet_classifies_as_it_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lenet.safetensors"
    words = ("--train-samples", 200, "--test-samples", 20, "--save-network", path)
    metrics = ran(Path(lenet5.__file__), tmp_path / "metrics.json", monkeypatch, *words)
    saved = load_file(path)
    labels = mnist.load(None, 1, 20).test.labels
    assert (saved["outputs"].argmax(axis=1) == labels).mean() == metrics["test_accuracy"]
    assert [saved[f"weights.{n}"].shape for n in range(5)] == [
        (6, 1, 5, 5), (16, 6, 5, 5), (120, 16, 5, 5), (84, 120, 1, 1), (10, 84, 1, 1)
    ]  # fmt: skip


def test_sides_that_no_cells_fill_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for side in (36, 24):
        with pytest.raises(SystemExit) as end:
            ran(Path(detector.__file__), tmp_path / "m.json", monkeypatch, "--side", side)
        assert end.value.code == 2
        assert f"--side {side}: expected a multiple of 8 from 32" in capsys.readouterr().err


def test_decoded_boxes_are_shares_of_the_image() -> None:
    boxes, sure, chances = decoded(torch.randn(2, 13, 5, 3))
    assert boxes.shape == (2, 5, 3, 2, 4) and sure.shape == (2, 5, 3, 2)
    assert boxes.min() >= 0 and boxes.max() <= 1
    torch.testing.assert_close(chances.sum(dim=-1), torch.ones(2, 5, 3))
