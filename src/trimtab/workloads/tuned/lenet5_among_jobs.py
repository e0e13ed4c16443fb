"""LeNet5 on MNIST, trained while other jobs train on the same CPUs.

Rocha's thesis, section 6.2: a tuning job shares its CPUs with background jobs. Here these train
LeNet5, too, each in its own process, for as long as this one.
"""

import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from trimtab.workloads.common import classification, program
from trimtab.workloads.data import mnist
from trimtab.workloads.lenet5 import build

_FOREVER = "1000000000"


@contextmanager
def among(jobs: int) -> Iterator[None]:
    """Run `jobs` - 1 background jobs during the block."""
    command = [sys.executable, "-m", "trimtab.workloads.lenet5", "--epochs", _FOREVER]
    # They are no trials; a tuner that kills this process also kills its children.
    environment = {name: v for name, v in os.environ.items() if not name.startswith("TRIMTAB_")}
    others = [
        subprocess.Popen(
            [*command, "--seed", str(number), "--output", os.devnull],
            env=environment, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
        )
        for number in range(1, jobs)
    ]  # fmt: skip
    try:
        yield
    finally:
        for other in others:
            other.kill()
        for other in others:
            other.wait()


def _run(options: Namespace) -> dict[str, object]:
    with among(options.jobs):
        return classification.run(options, lambda _: build(options.dropout), mnist.load)


if __name__ == "__main__":
    program.main(
        "LeNet5 on MNIST among other jobs.",
        16,
        _run,
        learning_rate=classification.LEARNING_RATE,
        dropout=0.0,
        jobs=1,
    )
