"""The data sets of the shipped workloads: a local copy, or real data that a package carries."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]


class InputError(Exception):
    """Something that was given to a program is wrong: a path, or what is in the file."""


@dataclass(frozen=True)
class Images:
    """Labelled images in two splits.

    Images are uint8 of shape [samples, channels, height, width]; labels are int64 of shape
    [samples], from 0 to 9. `name` is the data set's name, `source` where this copy came from.
    """

    name: str
    source: str
    train_images: Bytes
    train_labels: Labels
    test_images: Bytes
    test_labels: Labels

    def first(self, train_samples: int | None, test_samples: int | None) -> "Images":
        """Return the first samples of each split, all of them where a number is None."""
        return Images(
            self.name,
            self.source,
            self.train_images[:train_samples],
            self.train_labels[:train_samples],
            self.test_images[:test_samples],
            self.test_labels[:test_samples],
        )


def channels_last(images: Bytes) -> npt.NDArray[np.float32]:
    """Return images as float32 [samples, height, width, channels] from -1 to 1."""
    return images.transpose(0, 2, 3, 1).astype(np.float32) / 127.5 - 1


def package_folder(package: str, carried: str) -> Path:
    """Return the folder of an installed package without importing it.

    Importing costs seconds for some packages, and only one file of it is wanted. Raises
    InputError when the package is not installed, naming what it would have `carried`.
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

    Any beginning and any end of the samples in this order is stratified by class.
    """
    rank = np.empty(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        of_class = labels == label
        rank[of_class] = np.arange(of_class.sum())
    return np.lexsort((labels, rank))
