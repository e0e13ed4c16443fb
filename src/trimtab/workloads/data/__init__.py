"""The data sets of the shipped workloads: a local copy, or real data in a package."""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]


class InputError(Exception):
    """A program's input is wrong: a path, or the content of a file."""


@dataclass(frozen=True)
class Split:
    """Inputs [samples, ...] and their labels, int64 [samples], from 0.

    Inputs are images, uint8 [samples, channels, height, width], sound, int16 [samples, 1, points],
    or texts, int64 numbers of tokens [samples, tokens].
    """

    inputs: npt.NDArray[Any]
    labels: Labels

    def __len__(self) -> int:
        return len(self.labels)

    def first(self, samples: int | None) -> "Split":
        """Return the first `samples` samples; all for None."""
        return self.of(slice(samples))

    def of(self, chosen: slice | npt.NDArray[Any]) -> "Split":
        """Return the samples at these positions."""
        return Split(self.inputs[chosen], self.labels[chosen])

    def held_out(self, seed: int) -> tuple["Split", "Split"]:
        """Return the training part, and a sixth for validation.

        `seed` draws them; both keep the samples' order. Raises InputError for fewer than 2 samples.
        """
        chosen = held_out(len(self), seed)
        return self.of(~chosen), self.of(chosen)


@dataclass(frozen=True)
class Samples:
    """Labelled samples in two splits.

    `name` is the data set's name, `source` the origin of this copy. Labels are below `classes`, and
    token numbers of texts below `tokens`.
    """

    name: str
    source: str
    train: Split
    test: Split
    classes: int = 10
    tokens: int = 0

    def first(self, train_samples: int | None, test_samples: int | None) -> "Samples":
        """Return the first samples of each split; all for None."""
        return replace(
            self, train=self.train.first(train_samples), test=self.test.first(test_samples)
        )


def held_out(samples: int, seed: int) -> npt.NDArray[np.bool_]:
    """Return the mask of the sixth of training samples, drawn by `seed`, for validation.

    Raises InputError where one of both parts would be empty.
    """
    if samples < 2:
        raise InputError(f"{samples} training samples; expected 2 or more: some are for validation")
    chosen = np.zeros(samples, dtype=np.bool_)
    number = max(1, samples // 6)
    chosen[np.random.default_rng(seed).choice(samples, number, replace=False)] = True
    return chosen


def channels_last(images: Bytes) -> npt.NDArray[np.float32]:
    """Return images as float32 [samples, height, width, channels] from -1 to 1."""
    return images.transpose(0, 2, 3, 1).astype(np.float32) / 127.5 - 1


def package_folder(package: str, carried: str) -> Path:
    """Return the folder of an installed package without importing it.

    Importing some packages takes seconds, and only one file is needed. Raises InputError, with the
    data `carried` by the package, when it is not installed.
    """
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise InputError(
            f"without --data, {carried} come from the Python package {package}, which is not "
            f"installed: install it, or give --data"
        )
    return Path(spec.origin).parent


def interleaved(labels: Labels) -> npt.NDArray[np.int64]:
    """Return the order that takes the first sample of every class, then the second, and so on.

    Any prefix and any suffix of the samples in this order is stratified by class.
    """
    rank = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        of_class = labels == label
        rank[of_class] = np.arange(of_class.sum())
    return np.lexsort((labels, rank))
