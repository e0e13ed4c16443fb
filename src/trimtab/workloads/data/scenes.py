"""Scenes with objects to find: handwritten digits on pieces of photographs."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trimtab.workloads.data import Bytes, digits, photographs

CLASSES = 10
OBJECTS = 3  # in each scene; they may overlap
_ENLARGED = (2, 3, 4)  # factors on 8 pixels


@dataclass(frozen=True)
class Scenes:
    """Images uint8 [scenes, 3, side, side] with OBJECTS objects each.

    `boxes` are float32 [scenes, OBJECTS, 4], their centres x and y, widths and heights in shares of
    the side; `labels` int64 [scenes, OBJECTS].
    """

    images: Bytes
    boxes: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


def draw(count: int, side: int, seed: int) -> Scenes:
    """Return scenes drawn by `seed`; `side` is at least 32 pixels.

    Raises InputError when scikit-learn is not installed.
    """
    random = np.random.default_rng(seed)
    images = photographs.pieces(count, side, random)
    known = digits.load().train
    boxes = np.empty((count, OBJECTS, 4), dtype=np.float32)
    labels = np.empty((count, OBJECTS), dtype=np.int64)
    for scene in range(count):
        for place in range(OBJECTS):
            chosen = int(random.integers(len(known)))
            times = int(random.choice(_ENLARGED))
            ink = known.inputs[chosen, 0].repeat(times, axis=0).repeat(times, axis=1)
            size = len(ink)
            top, left = (int(edge) for edge in random.integers(side - size + 1, size=2))
            under = images[scene, :, top : top + size, left : left + size]
            np.maximum(under, ink, out=under)
            centre = (left + size / 2) / side, (top + size / 2) / side
            boxes[scene, place] = *centre, size / side, size / side
            labels[scene, place] = known.labels[chosen]
    return Scenes(images, boxes, labels)


def source() -> str:
    """Return their sources."""
    return f"digits on {photographs.source()}, in place of COCO, which no package carries"
