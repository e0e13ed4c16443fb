"""What the programs that train a model in PyTorch have in common: options, weights, metrics."""

import argparse
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trimtab.workloads.common import torch_device
from trimtab.workloads.common.command import DEVICES, beside, positive, write_result
from trimtab.workloads.data import InputError


@dataclass(frozen=True)
class Options:
    """The command line of a shipped program."""

    phase: str
    device: str
    data: Path | None
    epochs: int
    batch_size: int
    train_samples: int | None
    test_samples: int | None
    seed: int
    threads: int
    weights: Path | None
    save_weights: Path | None
    output: Path


def main(description: str, batch_size: int, run: Callable[[Options], dict[str, Any]]) -> None:
    """Read the command line, call `run` and write the metrics that it returns as JSON.

    Equal command lines give equal files, to the last bit: floating-point numbers are written
    in full and no times are. Ends the process with 2 when something that was given is wrong.
    """
    options = read_options(description, batch_size)

    def result() -> dict[str, Any]:
        device = torch_device.prepare(options.device, options.seed, options.threads)
        return run(options) | {
            "phase": options.phase,
            "device": torch_device.described(device),
            "seed": options.seed,
            "threads": options.threads,
            "batch_size": options.batch_size,
            "torch": torch.__version__,
        }

    write_result(result, options.output)


def read_options(
    description: str, batch_size: int, arguments: Sequence[str] | None = None
) -> Options:
    """Return the options in `arguments` (the process's own without them)."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--phase", choices=("train", "inference"), default="train")
    add("--device", choices=DEVICES, default="cpu")
    add("--data", type=Path, help="local copy of the data set; without it a package's own data")
    add("--epochs", type=positive, default=1, help="passes over the training data")
    add("--batch-size", type=positive, default=batch_size)
    add("--train-samples", type=positive, help="keep the first of the training data")
    add("--test-samples", type=positive, help="keep the first of the test data")
    add("--seed", type=int, default=0, help="of initial weights, order of samples and dropout")
    # One thread: on a machine that was shared, a second one cost these small models several times
    # the CPU time and the wall time.
    add(
        "--threads",
        type=positive,
        default=1,
        help="the sums' order, and so the last bits, depend on it",
    )
    add("--weights", type=Path, help="start from these weights, not from random ones")
    add("--save-weights", type=Path, help="where to write the weights after training")
    add("--output", type=Path, required=True, help="where to write the metrics, as JSON")
    return Options(**vars(parser.parse_args(arguments)))


def load_weights(model: Any, options: Options) -> str:
    """Load the weights that were asked for into `model` and return what it starts from.

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


def save_weights(model: Any, options: Options) -> None:
    """Save the weights of `model` where that was asked for."""
    if options.save_weights is not None:
        temporary = beside(options.save_weights)
        with temporary.open("wb") as file:
            torch.save(model.state_dict(), file)
        temporary.replace(options.save_weights)
