"""LeNet5 (LeCun et al. 1998) on MNIST."""

from typing import Any

from torch import nn

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import mnist


def build(dropout: float = 0.0) -> Any:
    """Return LeNet5: [batch, 1, 28, 28] to logits [batch, 10], 61,706 parameters.

    As in section II.B of the paper, with every map of C3 connected to all of S2, average
    pooling without coefficients, and a linear last layer in place of radial basis functions.
    `dropout` is the share of values that are dropped before it while it is trained.
    """
    return nn.Sequential(
        nn.Conv2d(1, 6, kernel_size=5, padding=2),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, kernel_size=5),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 5 * 5, 120),
        nn.Tanh(),
        nn.Linear(120, 84),
        nn.Tanh(),
        *([nn.Dropout(dropout)] if dropout else []),
        nn.Linear(84, 10),
    )


if __name__ == "__main__":
    program.main(
        "LeNet5 on MNIST.",
        16,
        lambda options: classification.run(options, lambda _: build(options.dropout), mnist.load),
        learning_rate=classification.LEARNING_RATE,
        dropout=0.0,
    )
