import io
import os
import pickle
import struct
import tarfile

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from trimtab.workloads.data import InputError, cifar10

CLASSES = ("airplane", "automobile", "bird")


@pytest.fixture(scope="module")
def digits():
    return cifar10.load(None)


@pytest.fixture
def image_folder(tmp_path, digits):
    """Four train and two test images a class, as PNG; the labels of the digits do not matter."""
    folder = tmp_path / "cifar"
    images = iter(digits.train.inputs)
    for split, count in (("train", 4), ("test", 2)):
        for name in CLASSES:
            (folder / split / name).mkdir(parents=True)
            for number in range(count):
                pixels = next(images).transpose(1, 2, 0)
                Image.fromarray(pixels).save(folder / split / name / f"{number:04d}.png")
    (folder / "README.md").write_text("not an image")
    (folder / "train" / "bird" / "._0000.png").write_text("not an image either")
    return folder


def python2_batch(images: np.ndarray, labels: list[int]) -> bytes:
    """The bytes that Python 2's cPickle writes for a batch, protocol 2."""

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value

    def number(value: int) -> bytes:
        return b"K" + bytes([value])

    data = images.reshape(len(images), -1).tobytes()
    dtype = b"cnumpy\ndtype\n" + text(b"u1") + number(0) + number(1) + b"\x87R(" + number(3)
    dtype += text(b"|") + b"NNN" + b"J\xff\xff\xff\xff" * 2 + number(0) + b"tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + number(0) + b"\x85"
    array += text(b"b") + b"\x87R(" + number(1) + number(len(images)) + b"M\x00\x0c\x86" + dtype
    array += b"\x89T" + struct.pack("<I", len(data)) + data + b"tb"
    items = text(b"data") + array
    items += text(b"labels") + b"](" + b"".join(map(number, labels)) + b"e"
    return b"\x80\x02}(" + items + b"u."


@pytest.fixture
def pickle_folder(tmp_path, digits):
    folder = tmp_path / "data" / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for number in range(5):
        part = slice(3 * number, 3 * number + 3)
        batch = python2_batch(digits.train.inputs[part], digits.train.labels[part].tolist())
        (folder / f"data_batch_{number + 1}").write_bytes(batch)
    test = {b"data": digits.test.inputs[:4].reshape(4, -1), b"labels": [3, 1, 4, 1]}
    (folder / "test_batch").write_bytes(pickle.dumps(test, protocol=2))
    (folder / "readme.html").write_text("")
    return folder.parent


def archive_of(folder, suffix):
    path = folder.parent / f"archive{suffix}"
    with tarfile.open(path, "w:gz" if suffix.endswith("gz") else "w") as archive:
        archive.add(folder, arcname=folder.name)
    return path


def test_digits_are_those_of_scikit_learn_each_pixel_repeated(digits):
    assert digits.train.inputs.shape == (1437, 3, 32, 32)
    assert digits.test.inputs.shape == (360, 3, 32, 32)
    assert "digits of scikit-learn, resized to 3x32x32" in digits.name
    assert "CIFAR-10" in digits.source and "1,797" in digits.source
    images = np.concatenate([digits.train.inputs, digits.test.inputs])
    labels = np.concatenate([digits.train.labels, digits.test.labels])
    blocks = images.reshape(-1, 3, 8, 4, 8, 4)
    assert (blocks == blocks[:, :1, :, :1, :, :1]).all()
    theirs = load_digits()
    small = np.rint(images[:, 0, ::4, ::4] / 255 * 16).astype(np.uint8).reshape(-1, 64)
    ours = sorted((row.tobytes(), int(label)) for row, label in zip(small, labels, strict=True))
    pairs = zip(theirs.data.astype(np.uint8), theirs.target, strict=True)
    assert ours == sorted((row.tobytes(), int(label)) for row, label in pairs)


def test_digits_are_stratified(digits):
    train, test = np.bincount(digits.train.labels), np.bincount(digits.test.labels)
    assert train.max() - train.min() <= 1
    assert (train + test).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_image_folder_gives_every_pixel_and_alphabetical_labels(image_folder, digits):
    images = cifar10.load(image_folder)
    assert images.name == "CIFAR-10"
    assert images.train.labels.tolist() == [0, 1, 2] * 4
    assert images.test.labels.tolist() == [0, 1, 2] * 2
    # The first image of each class comes first; the files were written class by class.
    assert np.array_equal(images.train.inputs[:3], digits.train.inputs[[0, 4, 8]])
    assert np.array_equal(images.test.inputs[3:], digits.train.inputs[[13, 15, 17]])


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz"])
def test_archives_give_what_folders_give(image_folder, pickle_folder, suffix):
    for folder in (image_folder, pickle_folder):
        unpacked, packed = (
            cifar10.load(folder, 5, 3),
            cifar10.load(archive_of(folder, suffix), 5, 3),
        )
        assert len(packed.train) == 5 and len(packed.test) == 3
        for one, other in ((unpacked.train, packed.train), (unpacked.test, packed.test)):
            assert np.array_equal(one.inputs, other.inputs)
            assert np.array_equal(one.labels, other.labels)


def test_jpeg_in_grey_becomes_three_equal_channels(image_folder):
    path = image_folder / "train" / "airplane" / "0000.png"
    Image.open(path).convert("L").save(path.with_suffix(".JPG"), "JPEG")
    path.unlink()
    image = cifar10.load(image_folder).train.inputs[0]
    assert (image == image[0]).all() and image.max() > 200


def test_pickles_of_python_2_give_back_what_was_written(pickle_folder, digits):
    images = cifar10.load(pickle_folder)
    assert np.array_equal(images.train.inputs, digits.train.inputs[:15])
    assert np.array_equal(images.train.labels, digits.train.labels[:15])
    assert np.array_equal(images.test.inputs, digits.test.inputs[:4])
    assert images.test.labels.tolist() == [3, 1, 4, 1]


class Touch:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_pickle_that_would_run_code_is_refused_and_does_not_run(pickle_folder):
    harmed = pickle_folder / "harmed"
    batch = pickle_folder / "cifar-10-batches-py" / "data_batch_3"
    batch.write_bytes(pickle.dumps({b"data": Touch(harmed), b"labels": []}))
    with pytest.raises(InputError, match=r"data_batch_3: .*mkdir"):
        cifar10.load(pickle_folder)
    assert not harmed.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        pickle.dumps([1, 2]),
        pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1]}),
        pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 10]}),
        pickle.dumps({b"data": np.zeros((2, 99), np.uint8), b"labels": [1, 2]}),
    ],
)
def test_damaged_pickles_are_named(pickle_folder, content):
    (pickle_folder / "cifar-10-batches-py" / "test_batch").write_bytes(content)
    with pytest.raises(InputError, match="test_batch"):
        cifar10.load(pickle_folder)


def test_damaged_and_wrongly_sized_images_are_named(image_folder):
    path = image_folder / "test" / "bird" / "0001.png"
    Image.new("RGB", (16, 24)).save(path)
    with pytest.raises(InputError, match=r"bird/0001.png: 16 x 24"):
        cifar10.load(image_folder)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match=r"bird/0001.png: not a readable image"):
        cifar10.load(image_folder)


def test_path_without_either_layout_says_what_was_looked_for(tmp_path):
    (tmp_path / "train").mkdir()
    with pytest.raises(InputError, match=r"--data .*data_batch_1.*train/<class>/<image>"):
        cifar10.load(tmp_path)


def test_file_that_is_no_archive_is_refused(tmp_path, image_folder):
    path = tmp_path / "cifar.tar.gz"
    for content in (None, b"", b"no tar", archive_of(image_folder, ".tar.gz").read_bytes()[:900]):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(InputError, match=r"cifar\.tar\.gz"):
            cifar10.load(path)


def test_more_than_ten_classes_are_refused(image_folder):
    for number in range(8):
        copy = image_folder / "train" / f"more{number}"
        copy.mkdir()
        picture = io.BytesIO()
        Image.new("RGB", (32, 32)).save(picture, "PNG")
        (copy / "0.png").write_bytes(picture.getvalue())
    with pytest.raises(InputError, match="11 classes"):
        cifar10.load(image_folder)
