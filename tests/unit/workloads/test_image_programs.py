"""The programs of the container images: facts of their nets, and that training trains them."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from trimtab.workloads.data import photographs, scenes
from trimtab.workloads.images import dla, plain_python
from trimtab.workloads.images.yolov3 import loss_of
from trimtab.workloads.images.yolov3_net import YOLOv3

PROGRAMS = Path(dla.__file__).parent


def parameters_of(model: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


def ran(program: str, output: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> bytes:
    monkeypatch.setattr(sys, "argv", [program, "--output", str(output), *words])
    runpy.run_path(str(PROGRAMS / program), run_name="__main__")
    return output.read_bytes()


def test_a_tree_is_the_papers_equations() -> None:
    tree = dla.AggregationTree(3, 4, 8, stride=2).eval()
    features = torch.rand(2, 4, 8, 8)
    second, first, left, right = tree.parts  # T_2, T_1, B, B
    of_second = second(features)
    of_first = first(of_second)
    of_left = left(of_first)
    joined = torch.cat([of_second, of_first, of_left, right(of_left)], dim=1)
    torch.testing.assert_close(tree(features), tree.node(joined))
    assert tree(features).shape == (2, 8, 4, 4)


def test_yolov3_has_as_many_parameters_as_others_have_built_and_three_grids() -> None:
    with torch.device("meta"):
        assert parameters_of(YOLOv3(80)) == 61_949_149
    grids = YOLOv3(10, 8).eval()(torch.zeros(2, 3, 96, 64))
    assert [tuple(grid.shape) for grid in grids] == [
        (2, 3, 3, 2, 15),
        (2, 3, 6, 4, 15),
        (2, 3, 12, 8, 15),
    ]


def test_what_is_found_where_it_is_costs_nothing() -> None:
    """An object as large as the smallest anchor, in the middle of a cell of the finest grid."""
    outputs = [torch.zeros(1, 3, rows, rows, 15) for rows in (2, 4, 8)]
    for grid in outputs:
        grid[..., 4] = -100.0  # nothing anywhere
    size = 10 / 416, 13 / 416
    boxes = torch.tensor([[[2.5 / 8, 5.5 / 8, *size]]])
    found = outputs[2][0, 0, 5, 2]
    found[4] = 100.0
    found[5:] = -100.0
    found[5 + 7] = 100.0
    of_seven, of_eight = (float(loss_of(outputs, boxes, torch.tensor([[k]]))) for k in (7, 8))
    assert of_seven == pytest.approx(0, abs=1e-6) and of_eight == pytest.approx(200)
    elsewhere = boxes + torch.tensor([0, 1 / 8, 0, 0])
    assert float(loss_of(outputs, elsewhere, torch.tensor([[7]]))) > 100


def test_scenes_have_digits_where_their_boxes_are_and_nothing_else_changed() -> None:
    drawn = scenes.draw(6, 96, seed=3)
    again = scenes.draw(6, 96, seed=3)
    assert np.array_equal(drawn.images, again.images) and np.array_equal(drawn.boxes, again.boxes)
    bare = photographs.pieces(6, 96, np.random.default_rng(3))
    for image, under, boxes in zip(drawn.images, bare, drawn.boxes, strict=True):
        outside = np.ones((96, 96), dtype=bool)
        for x, y, width, height in boxes * 96:
            left, top = round(x - width / 2), round(y - height / 2)
            assert min(left, top) >= 0 and max(left + width, top + height) <= 96
            inside = slice(top, round(top + height)), slice(left, round(left + width))
            assert (image[:, *inside] > under[:, *inside]).any()
            outside[inside] = False
        assert np.array_equal(image[:, outside], under[:, outside])
    assert set(drawn.labels.flat) <= set(range(scenes.CLASSES))


def test_yolov3_learns_its_scenes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--width", "4", "--side", "64", "--scenes", "8", "--epochs", "3")
    first = ran("yolov3.py", tmp_path / "metrics.json", monkeypatch, *words)
    assert ran("yolov3.py", tmp_path / "metrics.json", monkeypatch, *words) == first
    losses = json.loads(first)["train_loss"]
    assert losses[-1] < losses[0]


def test_a_side_that_has_no_whole_cells_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        ran("yolov3.py", tmp_path / "metrics.json", monkeypatch, "--side", "100")
    assert end.value.code == 2
    assert "--side 100: expected a multiple of 32" in capsys.readouterr().err


def test_improved_diffusion_gives_the_same_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("diffusers", reason="diffusers is in the image alone")
    words = ("--width", "16", "--side", "16", "--steps", "3", "--sampling-steps", "2")
    first = ran("diffusion.py", tmp_path / "metrics.json", monkeypatch, *words)
    assert ran("diffusion.py", tmp_path / "metrics.json", monkeypatch, *words) == first


def test_bayesian_optimisation_never_loses_volume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("botorch", reason="BoTorch is in the image alone")
    words = ("--iterations", "2", "--batch-size", "1", "--samples", "8", "--restarts", "2")
    metrics = json.loads(ran("multi_objective.py", tmp_path / "m.json", monkeypatch, *words))
    for volumes in metrics["hypervolume"].values():
        assert 0 <= volumes[0] <= volumes[1] <= metrics["largest_hypervolume"]


def test_python_alone_needs_no_other_package(capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for _ in range(2):
        plain_python.main(50)
        said.append(json.loads(capsys.readouterr().out))
    assert said[0] == said[1] and 0 < said[0]["mean"] < 1
