"""One phase of AlexNet (Krizhevsky et al. 2012) on CIFAR-10, repeated.

Rocha's thesis, section 2.4: is inference equal to the forward phase of training? Every part begins
with the same weights, trained for one pass over the data. Then an epoch is a pass of one part:

- `training`: forward, backward, and the weights' update, by stochastic gradient descent;
- `forward`: the forward phase of that, as autograd records it for a backward phase, with the loss;
- `inference`: the trained model's answers, for which nothing is recorded.
"""

from argparse import Namespace
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

import trimtab_trial
from trimtab.workloads.common import command, program, torch_device
from trimtab.workloads.common.classification import LEARNING_RATE, labelled, scaled
from trimtab.workloads.common.command import mark_epoch, mark_first_iteration
from trimtab.workloads.data import cifar10

_PARTS = ("training", "forward", "inference")


def build(classes: int = 10) -> Any:
    """Return AlexNet: [batch, 3, 32, 32] to logits [batch, classes].

    It has five convolutions and three linear layers, with strides and linear widths for 32 x 32
    pixels.
    """
    return nn.Sequential(
        nn.Conv2d(3, 64, kernel_size=3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(64, 192, kernel_size=3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(192, 384, kernel_size=3, padding=1), nn.ReLU(),
        nn.Conv2d(384, 256, kernel_size=3, padding=1), nn.ReLU(),
        nn.Conv2d(256, 256, kernel_size=3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(),
        nn.Linear(256 * 2 * 2, 1024), nn.ReLU(), nn.Dropout(),
        nn.Linear(1024, 1024), nn.ReLU(),
        nn.Linear(1024, classes),
    )  # fmt: skip


def passed(model: Any, part: str, batches: Any, optimiser: Any) -> tuple[float, float]:
    """Pass over the data once, by one part; return mean cross-entropy and accuracy."""
    model.train(part != "inference")
    total, right, count = 0.0, 0, 0
    with torch.inference_mode(part == "inference"):
        for inputs, labels in batches:
            logits = model(scaled(inputs))
            loss = nn.functional.cross_entropy(logits, labels)
            if part == "training":
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            total += loss.item() * len(labels)
            right += int((logits.argmax(dim=1) == labels).sum())
            count += len(labels)
    return total / count, right / count


def run(options: Namespace) -> dict[str, Any]:
    """Train for one pass, then repeat the part, epoch by epoch."""
    torch_device.prepare(options.device, options.seed, options.threads)
    samples = cifar10.load(options.data, options.train_samples, options.test_samples)
    data = labelled(samples.train)
    model = build(samples.classes)
    optimiser = torch.optim.SGD(model.parameters(), lr=options.learning_rate)
    trained = DataLoader(data, 32)
    passed(model, "training", trained, optimiser)
    mark_first_iteration()
    losses = []
    for epoch in range(trimtab_trial.first_epoch(), options.epochs):
        batches = DataLoader(data, options.batch_size)
        loss, accuracy = passed(model, options.part, batches, optimiser)
        losses.append(loss)
        mark_epoch(epoch + 1, loss)
        trimtab_trial.epoch_end(epoch, accuracy=accuracy, loss=loss)
    return {
        "data": {"name": samples.name, "source": samples.source},
        "part": options.part,
        "losses": losses,
    }


if __name__ == "__main__":
    made = program.parser("A part of using AlexNet on CIFAR-10.", 32)
    made.add_argument("--part", choices=_PARTS, default=_PARTS[0])
    made.add_argument("--learning-rate", type=float, default=10 * LEARNING_RATE)
    command.main(made, run)
