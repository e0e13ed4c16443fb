"""Deep layer aggregation (Yu et al., CVPR 2018) on CIFAR-10."""

from typing import Any

import torch
from torch import nn

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import cifar10

WIDTH = 16  # channels of the first layer, as for CIFAR-10


def convolution(before: int, after: int, side: int = 3, stride: int = 1) -> nn.Sequential:
    """Return a convolution with batch normalisation and ReLU."""
    return nn.Sequential(
        nn.Conv2d(before, after, side, stride, padding=side // 2, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU(),
    )


class Block(nn.Module):  # type: ignore[misc]
    """Two convolutions with a shortcut (He et al. 2016)."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            convolution(before, after, stride=stride),
            nn.Conv2d(after, after, 3, padding=1, bias=False),
            nn.BatchNorm2d(after),
        )
        is_same = before == after and stride == 1
        self.shortcut = nn.Identity() if is_same else nn.Conv2d(before, after, 1, stride)

    def forward(self, features: Any) -> Any:
        """Return [batch, after, height / stride, width / stride]."""
        return torch.relu(self.body(features) + self.shortcut(features))


class AggregationTree(nn.Module):  # type: ignore[misc]
    """Hierarchical deep aggregation of depth n, equations 3 and 4 of the paper.

    It consists of trees of depth n - 1 to 1, then two blocks; the aggregation node takes all their
    outputs.
    """

    def __init__(self, depth: int, before: int, after: int, stride: int = 1) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for level in range(depth - 1, 0, -1):
            parts.append(AggregationTree(level, before, after, stride))
            before, stride = after, 1
        parts += [Block(before, after, stride), Block(after, after, 1)]
        self.parts = nn.ModuleList(parts)
        self.node = convolution(len(parts) * after, after, side=1)

    def forward(self, features: Any) -> Any:
        """Return [batch, after, height / stride, width / stride]."""
        outputs = []
        for part in self.parts:
            features = part(features)
            outputs.append(features)
        return self.node(torch.cat(outputs, dim=1))


def build(width: int = WIDTH) -> nn.Sequential:
    """Return the net: [batch, 3, 32, 32] to logits [batch, 10]."""
    return nn.Sequential(
        convolution(3, width),
        convolution(width, width),
        convolution(width, 2 * width),
        AggregationTree(1, 2 * width, 4 * width),
        AggregationTree(2, 4 * width, 8 * width, stride=2),
        AggregationTree(2, 8 * width, 16 * width, stride=2),
        AggregationTree(1, 16 * width, 32 * width, stride=2),
        nn.AvgPool2d(4),
        nn.Flatten(),
        nn.Linear(32 * width, 10),
    )


if __name__ == "__main__":
    program.main(
        "Deep layer aggregation on CIFAR-10.",
        32,
        lambda options: classification.run(options, lambda _: build(options.width), cifar10.load),
        learning_rate=classification.LEARNING_RATE,
        width=WIDTH,
    )
