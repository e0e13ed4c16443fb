"""LeNet5 (LeCun et al. 1998) on MNIST."""

from argparse import Namespace
from typing import Any

import torch
from torch import nn

from trimtab.workloads.common import classification, network_file, program
from trimtab.workloads.data import mnist

_SAVED_IMAGES = 64  # test images saved with a network


def build(dropout: float = 0.0) -> Any:
    """Return LeNet5: [batch, 1, 28, 28] to logits [batch, 10], 61,706 parameters.

    As in section II.B of the paper, with every map of C3 connected to all of S2, average pooling
    without coefficients, and a linear last layer in place of radial basis functions. `dropout` is
    the share of values dropped before that layer in training.
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
        nn.Dropout(dropout),  # even for 0, so weights keep their names
        nn.Linear(84, 10),
    )


def run(options: Namespace) -> dict[str, Any]:
    """Train or classify, as `classification.run`, and save the network if requested."""
    model = build(options.dropout)
    metrics = classification.run(options, lambda _: model, mnist.load)
    if options.save_network is not None:
        some = mnist.load(
            options.data, 1, min(_SAVED_IMAGES, options.test_samples or _SAVED_IMAGES)
        )
        images = classification.scaled(torch.from_numpy(some.test.inputs))
        made = network_file.outputs(model, images)
        network_file.save(options.save_network, "lenet 1", model.cpu(), images, made)
    return metrics


if __name__ == "__main__":
    program.main(
        "LeNet5 on MNIST.",
        16,
        run,
        saves_network=True,
        learning_rate=classification.LEARNING_RATE,
        dropout=0.0,
    )
