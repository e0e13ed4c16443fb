"""What the shipped programs have in common: options, repeatable numbers, weights, metrics."""

import argparse
import json
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trimtab.workloads.data import InputError


@dataclass(frozen=True)
class Options:
    """The command line of a shipped program."""

    phase: str
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
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    try:
        metrics = run(options)
        common = {
            "phase": options.phase,
            "seed": options.seed,
            "threads": options.threads,
            "batch_size": options.batch_size,
            "torch": torch.__version__,
        }
        _write(options.output, metrics | common)
    except (InputError, OSError) as error:
        print(f"{Path(sys.argv[0]).name}: error: {error}", file=sys.stderr)
        sys.exit(2)


def read_options(
    description: str, batch_size: int, arguments: Sequence[str] | None = None
) -> Options:
    """Return the options in `arguments` (the process's own without them)."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--phase", choices=("train", "inference"), default="train")
    add("--data", type=Path, help="local copy of the data set; without it a package's own data")
    add("--epochs", type=_positive, default=1, help="passes over the training data")
    add("--batch-size", type=_positive, default=batch_size)
    add("--train-samples", type=_positive, help="keep the first of the training data")
    add("--test-samples", type=_positive, help="keep the first of the test data")
    add("--seed", type=int, default=0, help="of initial weights, order of samples and dropout")
    # One thread: on a machine that was shared, a second one cost these small models several times
    # the CPU time and the wall time.
    add(
        "--threads",
        type=_positive,
        default=1,
        help="the sums' order, and so the last bits, depend on it",
    )
    add("--weights", type=Path, help="start from these weights, not from random ones")
    add("--save-weights", type=Path, help="where to write the weights after training")
    add("--output", type=Path, required=True, help="where to write the metrics, as JSON")
    return Options(**vars(parser.parse_args(arguments)))


def mark_first_iteration() -> None:
    """Say that the first batch has been processed: what loads late is loaded by now."""
    print("first iteration", flush=True)


def mark_epoch(number: int, loss: float) -> None:
    """Say that an epoch of training has ended; the first is number 1."""
    print(f"epoch {number} loss {loss:.6f}", flush=True)


def load_weights(model: Any, options: Options) -> str:
    """Load the weights that were asked for into `model` and return what it starts from.

    Raises InputError when the file cannot be read or is of another model.
    """
    path = options.weights
    if path is None:
        return f"initialised from seed {options.seed}"
    try:
        model.load_state_dict(torch.load(path, weights_only=True))
    except (OSError, EOFError, RuntimeError, TypeError, pickle.UnpicklingError) as error:
        raise InputError(f"--weights {path}: no weights of this model: {error}") from None
    return f"read from {path}"


def save_weights(model: Any, options: Options) -> None:
    """Save the weights of `model` where that was asked for."""
    if options.save_weights is not None:
        temporary = _beside(options.save_weights)
        with temporary.open("wb") as file:
            torch.save(model.state_dict(), file)
        temporary.replace(options.save_weights)


def _write(path: Path, metrics: dict[str, Any]) -> None:
    temporary = _beside(path)
    text = json.dumps(metrics, indent=1, sort_keys=True, ensure_ascii=False)
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(path)


def _beside(path: Path) -> Path:
    """Return a path to write to first, so that `path` appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.partial")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number of at least 1")
    return int(text)
