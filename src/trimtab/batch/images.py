"""Times of start-up by image, from a CSV file, and as the simulator's arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trimtab.batch.kernel import layout
from trimtab.batch.readers.csv_rows import TextRow, read_rows
from trimtab.errors import UserError

_NEEDED = ("image", "cold_start_s", "warm_start_s")
_EXPECTED = "expected a CSV with a header: image,cold_start_s,warm_start_s, and bytes if known"


class ImageStart(NamedTuple):
    """How long a job waits for its image on a node without it, or with it; its size, or None.

    `layers`: their bytes by digest, which a node pulls once for all images; None: it shares none.
    """

    cold_s: float
    warm_s: float
    size_bytes: int | None
    layers: Mapping[str, float] | None = None


class ImageArrays(NamedTuple):
    """Images as BatchState has them."""

    images: NDArray[np.void]  # IMAGE
    image_layers: NDArray[np.int64]
    layer_bytes: NDArray[np.float64]


def image_arrays(images: Mapping[str, ImageStart]) -> ImageArrays:
    """Return images with their layers; one without has a layer of its own, of unknown size 0."""
    rows = np.zeros(len(images), layout.IMAGE)
    numbers: dict[tuple[str, str], int] = {}
    sizes, of_images = list[float](), list[int]()
    for row, (name, each) in zip(rows, images.items(), strict=True):
        own = {name: float(each.size_bytes or 0)}
        layers = own if each.layers is None else each.layers
        row["fetch_s"], row["warm_s"] = each.cold_s - each.warm_s, each.warm_s
        row["bytes"] = sum(layers.values())
        row["first_layer"], row["layers"] = len(of_images), len(layers)
        for digest, size in layers.items():
            key = ("image" if each.layers is None else "layer", digest)
            if key not in numbers:
                numbers[key] = len(sizes)
                sizes.append(size)
            of_images.append(numbers[key])
    return ImageArrays(rows, np.array(of_images, np.int64), np.array(sizes, np.float64))


def read_images(path: Path) -> dict[str, ImageStart]:
    """Return the times by the name of the image.

    Raises UserError with the line and what was expected.
    """
    images: dict[str, ImageStart] = {}
    for row in read_rows(path, None, _NEEDED, _EXPECTED):
        name = row.texts["image"]
        if not name or name in images:
            raise UserError(f"{row.place}: image {name[:60]!r}: expected each name once")
        cold_s, warm_s = (_given(row, column) for column in _NEEDED[1:])
        if cold_s < warm_s:
            raise UserError(
                f"{row.place}: cold_start_s: {cold_s:g}, expected no less than the warm start,"
                f" {warm_s:g}"
            )
        size = row.number("bytes")
        images[name] = ImageStart(cold_s, warm_s, None if size is None else int(size))
    return images


def _given(row: TextRow, column: str) -> float:
    number = row.number(column)
    if number is None:
        raise UserError(f"{row.place}: {column}: '', expected a number from 0")
    return number
