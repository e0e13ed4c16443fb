"""The handwritten digits in scikit-learn: 1,797 images of 8 x 8 pixels."""

import gzip
from importlib.metadata import version

import numpy as np

from trimtab.workloads.data import Samples, Split, interleaved, package_folder

SIDE = 8


def load(channels: int = 1, enlarged: int = 1) -> Samples:
    """Return the digits as [samples, channels, 8 x `enlarged`, 8 x `enlarged`].

    The 17 grey values become bytes from 0 to 255, pixels are repeated, and all channels are equal.
    Four fifths are for training, stratified by digit. Raises InputError when scikit-learn is not
    installed.
    """
    # Read directly: importing sklearn.datasets for this one file takes more than a second.
    package = package_folder("sklearn", "1,797 images of digits")
    with gzip.open(package / "datasets" / "data" / "digits.csv.gz") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.int64)
    rows = rows[interleaved(rows[:, -1])]
    grey = np.rint(rows[:, :-1] * (255 / 16)).astype(np.uint8).reshape(-1, 1, SIDE, SIDE)
    images = grey.repeat(channels, axis=1).repeat(enlarged, axis=2).repeat(enlarged, axis=3)
    train = len(rows) * 4 // 5
    return Samples(
        f"digits of scikit-learn, resized to {'x'.join(map(str, images.shape[1:]))}",
        f"{len(rows):,} images carried by scikit-learn {version('scikit-learn')}",
        Split(images[:train], rows[:train, -1]),
        Split(images[train:], rows[train:, -1]),
    )
