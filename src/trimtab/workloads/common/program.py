"""Shared functions of the programs that train a PyTorch model: options, weights, metrics."""

import argparse
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from trimtab.workloads.common import command, torch_device
from trimtab.workloads.common.command import beside, fraction, positive
from trimtab.workloads.data import InputError


def main(
    description: str,
    batch_size: int,
    run: Callable[[argparse.Namespace], dict[str, Any]],
    saves_network: bool = False,
    **numbers: float,
) -> None:
    """Read the command line, call `run` and write its metrics, as command.main.

    `numbers` are options of this program alone, with their defaults; counts have whole defaults.
    With `saves_network`, it takes `--save-network`, a path. Equal command lines give bit-identical
    files, which contain no times.
    """

    def result(options: argparse.Namespace) -> dict[str, Any]:
        device = torch_device.prepare(options.device, options.seed, options.threads)
        return run(options) | {
            "phase": options.phase,
            "device": torch_device.described(device),
            "threads": options.threads,
            "batch_size": options.batch_size,
            "torch": torch.__version__,
        }

    made = parser(description, batch_size)
    if saves_network:
        where = "where to write the network, and images, for trimtab-task-*"
        made.add_argument("--save-network", type=Path, help=where)
    for name, default in numbers.items():
        kind = positive if isinstance(default, int) else float
        made.add_argument(f"--{name.replace('_', '-')}", type=kind, default=default)
    command.main(made, result)


def parser(description: str, batch_size: int) -> argparse.ArgumentParser:
    """Return a parser of every such program's options."""
    made = command.parser(description)
    add = made.add_argument
    add("--phase", choices=("train", "inference"), default="train")
    add("--data", type=Path, help="local copy of the data set; without it a package's own data")
    add("--epochs", type=positive, default=1, help="passes over the training data")
    add("--batch-size", type=positive, default=batch_size)
    add("--train-samples", type=positive, help="keep the first of the training data")
    add("--data-fraction", type=fraction, default=1.0, help="keep the first of these again")
    add("--test-samples", type=positive, help="keep the first of the test data")
    # One thread: on a shared machine, a second one multiplied CPU time and wall time of these small
    # models.
    add("--threads", type=positive, default=1, help="on which the last bits depend")
    add("--weights", type=Path, help="start from these weights, not from random ones")
    add("--save-weights", type=Path, help="where to write the weights after training")
    return made


def share_of(train_samples: int, options: argparse.Namespace) -> int:
    """Return the number of training samples to use."""
    kept: float = options.data_fraction
    return max(1, round(train_samples * kept))


def load_weights(model: Any, options: argparse.Namespace) -> str:
    """Load the requested weights into `model` and return their source.

    Raises InputError when the file cannot be read or is of another model.
    """
    path = options.weights
    if path is None:
        return f"initialised from seed {options.seed}"
    try:
        model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    except (OSError, EOFError, RuntimeError, TypeError, pickle.UnpicklingError) as error:
        raise InputError(f"--weights {path}: no weights of this model: {error}") from None
    return f"read from {path}"


def save_weights(model: Any, options: argparse.Namespace) -> None:
    """Save the weights of `model`, if requested."""
    if options.save_weights is not None:
        temporary = beside(options.save_weights)
        with temporary.open("wb") as file:
            torch.save(model.state_dict(), file)
        temporary.replace(options.save_weights)
