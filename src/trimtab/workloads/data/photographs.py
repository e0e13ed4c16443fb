"""The two photographs in scikit-learn, and pieces of them."""

import io
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from trimtab.workloads.data import Bytes, package_folder


def source() -> str:
    """Return their origin."""
    return f"photographs carried by scikit-learn {version('scikit-learn')}"


def pieces(count: int, side: int, random: np.random.Generator) -> Bytes:
    """Return uint8 [count, 3, `side`, `side`]: squares of the photographs at half size.

    Raises InputError when scikit-learn is not installed.
    """
    package = package_folder("sklearn", "two photographs")
    photographs = [
        _half(package / "datasets" / "images" / name) for name in ("china.jpg", "flower.jpg")
    ]
    made = np.empty((count, 3, side, side), dtype=np.uint8)
    for index in range(count):
        photograph = photographs[index % len(photographs)]
        top, left = (int(random.integers(edge - side + 1)) for edge in photograph.shape[:2])
        piece = photograph[top : top + side, left : left + side]
        made[index] = piece.transpose(2, 0, 1)
    return made


def _half(path: Path) -> npt.NDArray[np.uint8]:
    with Image.open(io.BytesIO(path.read_bytes())) as image:
        return np.asarray(image.convert("RGB").reduce(2))
