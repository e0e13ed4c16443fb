"""CIFAR-10: a local copy in pickles or image files, or scikit-learn's digits in its shape."""

import codecs
import io
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trimtab.workloads.data import InputError, Samples, Split, digits, interleaved
from trimtab.workloads.data.files import names, read

_BATCHES = {"train": [f"data_batch_{number}" for number in range(1, 6)], "test": ["test_batch"]}
_IMAGE = re.compile(r"(?:^|/)(train|test)/([^/]+)/[^/.][^/]*\.(?:png|jpe?g)$", re.IGNORECASE)
# Globals for numpy's arrays and Python 3's bytes; others in a pickle are refused, as loading them
# could run code.
_PICKLE_GLOBALS = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): np._core.multiarray._reconstruct,  # type: ignore[attr-defined]
    ("numpy._core.multiarray", "_reconstruct"): np._core.multiarray._reconstruct,  # type: ignore[attr-defined]
    ("_codecs", "encode"): codecs.encode,
}


def load(
    path: Path | None, train_samples: int | None = None, test_samples: int | None = None
) -> Samples:
    """Return CIFAR-10 from `path`, or scikit-learn's digits as 3x32x32 where it is None.

    `path` is a folder or a tar archive (compressed or not). At any depth, it holds the pickles
    `data_batch_1` to `data_batch_5` and `test_batch`, or PNG or JPEG files named
    `train/<class>/<image>` and `test/<class>/<image>`. `train_samples` and `test_samples` keep the
    first of each split; image files are taken from the classes in turn. Images are [samples, 3, 32,
    32]. Raises InputError with the file at fault.
    """
    if path is None:
        carried = digits.load(channels=3, enlarged=4).first(train_samples, test_samples)
        source = f"{carried.source}, in place of CIFAR-10, which no package carries"
        return replace(carried, source=source)
    found = names(path)
    by_stem = {name.rsplit("/", 1)[-1]: name for name in found}
    limits = {"train": train_samples, "test": test_samples}
    if all(batch in by_stem for batches in _BATCHES.values() for batch in batches):
        splits = [_batches(path, [by_stem[b] for b in _BATCHES[s]], limits[s]) for s in limits]
        return Samples("CIFAR-10", f"pickled batches in {path}", splits[0], splits[1])
    matches = [match for match in map(_IMAGE.search, found) if match]
    if {match[1].lower() for match in matches} == {"train", "test"}:
        splits = [_image_files(path, matches, split, limits[split]) for split in limits]
        return Samples("CIFAR-10", f"image files in {path}", splits[0], splits[1])
    raise InputError(
        f"--data {path}: found neither the pickles data_batch_1 to data_batch_5 and test_batch, "
        f"nor images named train/<class>/<image> and test/<class>/<image> (.png, .jpg) there"
    )


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        try:
            return _PICKLE_GLOBALS[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"holds {module}.{name}, not just arrays") from None


def _batches(path: Path, files: list[str], limit: int | None) -> Split:
    """Return the images and labels of pickled batches (cs.toronto.edu/~kriz/cifar.html)."""
    images, labels = [], []
    content = read(path, files)
    for file in files:
        try:
            # Python 2 pickled the batches; its strings are bytes here.
            batch = _ArrayUnpickler(io.BytesIO(content[file]), encoding="bytes").load()
            images.append(np.asarray(batch[b"data"], dtype=np.uint8).reshape(-1, 3, 32, 32))
            labels.append(np.asarray(batch[b"labels"], dtype=np.int64))
        except Exception as error:  # a hostile pickle can raise nearly anything
            raise InputError(f"{path}: {file}: not a batch of CIFAR-10: {error}") from None
        if labels[-1].shape != images[-1].shape[:1] or not set(labels[-1].tolist()) <= set(
            range(10)
        ):
            raise InputError(
                f"{path}: {file}: {len(images[-1])} images need as many labels from 0 to 9"
            )
    return Split(np.concatenate(images), np.concatenate(labels)).first(limit)


def _image_files(path: Path, matches: list[re.Match[str]], split: str, limit: int | None) -> Split:
    """Return images and labels of one split; classes are numbered in alphabetical order."""
    # Only image files need Pillow; other runs do not load it.
    from PIL import Image, UnidentifiedImageError

    classes = sorted({match[2] for match in matches})
    if len(classes) > 10:
        raise InputError(f"--data {path}: {len(classes)} classes; CIFAR-10 has 10")
    chosen = [match for match in matches if match[1].lower() == split]
    labels = np.array([classes.index(match[2]) for match in chosen], dtype=np.int64)
    order = interleaved(labels)[:limit]
    files = [chosen[index].string for index in order]
    content = read(path, files)
    images = np.empty((len(files), 3, 32, 32), dtype=np.uint8)
    for index, file in enumerate(files):
        try:
            with Image.open(io.BytesIO(content[file])) as image:
                pixels = np.asarray(image.convert("RGB"))
        except (UnidentifiedImageError, OSError) as error:
            raise InputError(f"{path}: {file}: not a readable image: {error}") from None
        if pixels.shape != (32, 32, 3):
            raise InputError(f"{path}: {file}: {pixels.shape[1]} x {pixels.shape[0]}, not 32 x 32")
        images[index] = pixels.transpose(2, 0, 1)
    return Split(images, labels[order])
