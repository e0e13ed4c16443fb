"""The drawing in the page is smaller and looks the same."""

import xml.etree.ElementTree as ET
from io import BytesIO
from pathlib import Path
from typing import Any

import experiment_files as files
import numpy as np
import vl_convert
from PIL import Image

from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.sizes import LibrarySizes
from trimtab.evaluation.outcome.treemap import Treemap


def pixels(svg: str) -> np.ndarray[Any, np.dtype[np.int16]]:
    """The drawing, as a browser would show it."""
    with Image.open(BytesIO(vl_convert.svg_to_png(svg))) as image:
        return np.asarray(image.convert("RGB"), dtype=np.int16)


def test_a_drawing_loses_words_and_no_pixel(tmp_path: Path) -> None:
    inputs = files.write_experiment(tmp_path)
    files.weigh(tmp_path / "debloat")
    measurements = load(inputs)
    for section in (LibrarySizes(measurements), Treemap(measurements)):
        (figure,) = section.figures
        slim = figure.slim_svg
        assert len(slim) < 0.35 * len(figure.svg)
        assert "".join(ET.fromstring(slim).itertext()) == "".join(
            ET.fromstring(figure.svg).itertext()
        )
        ours, theirs = (pixels(each) for each in (slim, figure.svg))
        assert ours.shape == theirs.shape
        # Edges move by tenths of a pixel; a grid line more or less is a mean of 0.08.
        assert np.abs(ours - theirs).mean() < 0.04
