"""YOLOv3 (Redmon and Farhadi 2018): the net, with Darknet-53."""

from typing import Any

import torch
from torch import nn

WIDTH = 32  # channels of the first layer
STRIDES = (32, 16, 8)  # pixels per cell of each of the three grids
_REPEATS = (1, 2, 8, 8, 4)  # residual blocks of each stage of Darknet-53, table 1
_ANCHORS = 3  # per cell


def convolution(before: int, after: int, side: int, stride: int = 1) -> nn.Sequential:
    """Return a convolution with batch normalisation and leaky ReLU."""
    return nn.Sequential(
        nn.Conv2d(before, after, side, stride, padding=side // 2, bias=False),
        nn.BatchNorm2d(after),
        nn.LeakyReLU(0.1),
    )


class Residual(nn.Module):  # type: ignore[misc]
    """A block of Darknet-53."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            convolution(channels, channels // 2, 1), convolution(channels // 2, channels, 3)
        )

    def forward(self, features: Any) -> Any:
        """Return the sum of the input and the block's output."""
        return features + self.body(features)


class Head(nn.Module):  # type: ignore[misc]
    """One scale: five convolutions, then the detections, and the features for the next scale."""

    def __init__(self, before: int, channels: int, classes: int) -> None:
        super().__init__()
        wide = 2 * channels
        self.body = nn.Sequential(
            convolution(before, channels, 1),
            convolution(channels, wide, 3),
            convolution(wide, channels, 1),
            convolution(channels, wide, 3),
            convolution(wide, channels, 1),
        )
        found = nn.Conv2d(wide, _ANCHORS * (5 + classes), 1)
        self.found = nn.Sequential(convolution(channels, wide, 3), found)

    def forward(self, features: Any) -> tuple[Any, Any]:
        """Return [batch, anchors, rows, columns, 5 + classes], and the features."""
        features = self.body(features)
        found = self.found(features)
        batch, _, rows, columns = found.shape
        found = found.view(batch, _ANCHORS, -1, rows, columns).permute(0, 1, 3, 4, 2)
        return found, features


class YOLOv3(nn.Module):  # type: ignore[misc]
    """The detector: images [batch, 3, side, side] to the detections of each of the STRIDES."""

    def __init__(self, classes: int, width: int = WIDTH) -> None:
        super().__init__()
        self.first = convolution(3, width, 3)
        stages = []
        for number, repeats in enumerate(_REPEATS):
            channels = width << (number + 1)
            blocks = [Residual(channels) for _ in range(repeats)]
            stages.append(nn.Sequential(convolution(channels // 2, channels, 3, 2), *blocks))
        self.stages = nn.ModuleList(stages)
        large, middle, small = 16 * width, 8 * width, 4 * width
        self.heads = nn.ModuleList(
            [
                Head(32 * width, large, classes),
                Head(16 * width + middle, middle, classes),
                Head(8 * width + small, small, classes),
            ]
        )
        self.narrow = nn.ModuleList([convolution(large, middle, 1), convolution(middle, small, 1)])

    def forward(self, images: Any) -> list[Any]:
        """Return [batch, anchors, rows, columns, 5 + classes] for each stride."""
        features, of_stages = self.first(images), []
        for stage in self.stages:
            features = stage(features)
            of_stages.append(features)
        found, features = self.heads[0](of_stages[4])
        outputs = [found]
        for narrow, below, head in zip(self.narrow, of_stages[3:1:-1], self.heads[1:], strict=True):
            larger = nn.functional.interpolate(narrow(features), scale_factor=2.0)
            found, features = head(torch.cat([larger, below], dim=1))
            outputs.append(found)
        return outputs
