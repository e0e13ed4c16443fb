"""Iterative computations without a learnt data set: a grid, a graph, centres.

An epoch is a number of iterations. The `accuracy` for a tuner lies between 0 and 1, higher is
better; each program defines it.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any, Protocol

import torch

from trimtab.workloads.common import command, torch_device
from trimtab.workloads.common.command import fraction, mark_epoch, mark_first_iteration, positive
from trimtab.workloads.common.trial import Trial


class Computation(Protocol):
    """A computation: a PyTorch module with its state in buffers."""

    def advance(self, order: Any) -> float:
        """Compute an epoch and return its loss; `order` is the random generator."""

    def quality(self) -> dict[str, float]:
        """Return the quality of the state: `validation_accuracy`, and further metrics."""


def add_options(made: ArgumentParser, batch_size: int) -> None:
    """Add the options of every such program."""
    made.add_argument("--epochs", type=positive, default=1)
    made.add_argument("--batch-size", type=positive, default=batch_size)
    made.add_argument("--data-fraction", type=fraction, default=1.0)
    made.add_argument("--threads", type=positive, default=1, help="on which the last bits depend")


def main(options: ArgumentParser, build: Callable[[Namespace], tuple[Any, dict[str, Any]]]) -> None:
    """Read the command line, run the computation from `build`, and write the metrics.

    `build` returns the Computation, and metrics about its data.
    """

    def run(arguments: Namespace) -> dict[str, Any]:
        torch_device.prepare("cpu", arguments.seed, arguments.threads)
        computation, metrics = build(arguments)
        losses = iterate(computation, arguments)
        return metrics | {
            "train_loss": losses,
            **computation.quality(),
            "batch_size": arguments.batch_size,
            "threads": arguments.threads,
            "torch": torch.__version__,
        }

    command.main(options, run)


def iterate(computation: Any, arguments: Namespace) -> list[float]:
    """Compute the epochs and return the loss of each.

    As a trial of a tuner, it resumes from its checkpoint and reports each epoch.
    """
    order = torch.Generator().manual_seed(arguments.seed)
    trial = Trial(torch.device("cpu"), order, model=computation)
    for epoch in range(trial.first, arguments.epochs + 1):
        trial.losses.append(computation.advance(order))
        if epoch == trial.first:
            mark_first_iteration()
        mark_epoch(epoch, trial.losses[-1])
        trial.epoch_end(epoch, computation.quality)
    return trial.losses
