"""Areas are sizes: they tile the whole, none overlaps another, and none is a splinter."""

from pathlib import Path

import experiment_files as files
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.outcome.areas import Box, squarified
from trimtab.evaluation.outcome.treemap import Treemap

WHOLE = Box(0, 0, 600, 400)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=40))
def test_areas_are_as_the_sizes_and_tile_the_whole(sizes: list[int]) -> None:
    sizes.sort(reverse=True)
    boxes = squarified(sizes, WHOLE)
    for size, box in zip(sizes, boxes, strict=True):
        assert box.width * box.height == pytest.approx(240_000 * size / sum(sizes), rel=1e-6)
        assert -1e-6 <= box.x <= box.x + box.width <= 600 + 1e-3
        assert -1e-6 <= box.y <= box.y + box.height <= 400 + 1e-3


def test_the_example_of_the_paper() -> None:
    boxes = squarified([6, 6, 4, 3, 2, 2, 1], Box(0, 0, 6, 4))
    assert boxes[0] == pytest.approx((0, 0, 3, 2)) and boxes[1] == pytest.approx((0, 2, 3, 2))
    worst = max(max(box.width / box.height, box.height / box.width) for box in boxes)
    assert worst < 3


def test_every_byte_before_has_its_area_with_what_became_of_it(tmp_path: Path) -> None:
    inputs = files.write_experiment(tmp_path)
    files.weigh(tmp_path / "debloat")
    (figure,) = Treemap(load(inputs)).figures
    rows = [row for row in files.values_in(figure.spec) if "fate" in row]
    area = {}
    for row in rows:
        pixels = (row["x2"] - row["x"]) * (row["y2"] - row["y"])
        area[row["fate"]] = area.get(row["fate"], 0) + pixels
    a_mb = 740 * 400 / 40
    assert area["gone"] == pytest.approx(16 * a_mb, rel=0.02)
    assert area["left, though no run used it"] == pytest.approx(14 * a_mb, rel=0.02)
    assert area["left, used"] == pytest.approx(10 * a_mb, rel=0.02)
    assert "libbig.so" in figure.svg
