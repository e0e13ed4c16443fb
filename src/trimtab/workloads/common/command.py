"""Shared functions of the shipped programs, usable before a framework is imported.

A program reads its command line before it imports its framework. So `--help` and command line
errors respond at once, even without the framework.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from trimtab.workloads.data import InputError


def parser(description: str, devices: Sequence[str] = ("cpu", "cuda")) -> argparse.ArgumentParser:
    """Return a parser of every program's options: the seed, and the metrics' file.

    It has an option for the device, unless `devices` is empty.
    """
    made = argparse.ArgumentParser(description=description)
    if devices:
        made.add_argument("--device", choices=devices, default=devices[0])
    made.add_argument("--seed", type=int, default=0, help="of all that is drawn at random")
    made.add_argument("--output", type=Path, required=True, help="where to write the metrics, JSON")
    return made


def main(
    options: argparse.ArgumentParser, run: Callable[[argparse.Namespace], dict[str, Any]]
) -> None:
    """Read the command line, call `run` and write its metrics, with the seed."""
    arguments = options.parse_args()
    write_result(lambda: run(arguments) | {"seed": arguments.seed}, arguments.output)


def write_result(run: Callable[[], dict[str, Any]], output: Path) -> None:
    """Call `run` and write its result to `output` as JSON.

    Equal results give bit-identical files: floating-point numbers are written in full. Exits with 2
    for wrong input.
    """
    try:
        text = json.dumps(run(), indent=1, sort_keys=True, ensure_ascii=False)
        temporary = beside(output)
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(output)
    except (InputError, OSError) as error:
        print(f"{Path(sys.argv[0]).name}: error: {error}", file=sys.stderr)
        sys.exit(2)


def mark_first_iteration() -> None:
    """Print the mark of the first processed batch, after lazy loading."""
    print("first iteration", flush=True)


def mark_epoch(number: int, loss: float) -> None:
    """Print the mark of an ended training epoch; the first is number 1."""
    print(f"epoch {number} loss {loss:.6f}", flush=True)


def beside(path: Path) -> Path:
    """Return a temporary path to write to first, so `path` can be replaced atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.partial")


def positive(text: str) -> int:
    """Return a whole number of at least 1 from the command line."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number of at least 1")
    return int(text)


def fraction(text: str) -> float:
    """Return a number above 0 and up to 1 from the command line."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a number above 0 and up to 1")
    return number
