"""Fashion-MNIST: a local copy in IDX files, or scikit-learn's digits in its shape."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from trimtab.workloads.data import Samples, Split, digits, mnist


def load(
    folder: Path | None, train_samples: int | None = None, test_samples: int | None = None
) -> Samples:
    """Return Fashion-MNIST from `folder`, or scikit-learn's digits as 1x28x28 where it is None.

    A folder holds the four IDX files, as for MNIST. The digits are enlarged three times, with an
    edge of two pixels. Raises InputError with the file at fault.
    """
    if folder is not None:
        copy = mnist.load(folder, train_samples, test_samples)
        return replace(copy, name="Fashion-MNIST")
    carried = digits.load(enlarged=3).first(train_samples, test_samples)
    return replace(
        carried,
        name="digits of scikit-learn, resized to 1x28x28",
        source=f"{carried.source}, in place of Fashion-MNIST, which no package carries",
        train=_framed(carried.train),
        test=_framed(carried.test),
    )


def _framed(split: Split) -> Split:
    return Split(np.pad(split.inputs, ((0, 0), (0, 0), (2, 2), (2, 2))), split.labels)
