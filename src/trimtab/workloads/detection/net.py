"""The net of the detector: five convolutions over the full image, to a grid of boxes."""

from itertools import pairwise
from typing import Any

from torch import nn

STRIDE = 8  # pixels to a cell
BOXES = 2  # to a cell
WIDTH = 8  # channels of the first layer
_SLOPE = 0.1


def build(classes: int, width: int = WIDTH) -> Any:
    """Return the net: [batch, 3, side, side] to [batch, BOXES * 5 + classes, cells, cells].

    Each cell has five numbers per box, for `boxes.decoded`, and one per class, as in Redmon et al.
    (2016), section 2. Layers are small, and the last one is a convolution, so sides can be any
    multiple of STRIDE.
    """
    channels = (3, width, 2 * width, 4 * width)
    layers: list[nn.Module] = []
    for before, after in pairwise(channels):
        layers += [
            nn.Conv2d(before, after, 3, padding=1), nn.LeakyReLU(_SLOPE), nn.MaxPool2d(2)
        ]  # fmt: skip
    layers += [nn.Conv2d(4 * width, 4 * width, 3, padding=1), nn.LeakyReLU(_SLOPE)]
    return nn.Sequential(*layers, nn.Conv2d(4 * width, BOXES * 5 + classes, 1))
