"""Spoken words: a local copy of Speech Commands or spoken digits, or MNIST read as a signal."""

import io
import re
import wave
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trimtab.workloads.data import InputError, Samples, Split, interleaved, mnist
from trimtab.workloads.data.files import names, read

_COMMAND = re.compile(r"(?:^|/)([^/_][^/]*)/[^/]*_nohash_\d+\.wav$")
_DIGIT = re.compile(r"(?:^|/)(\d)_[^/_]+_(\d+)\.wav$")
_TEST_LIST = "testing_list.txt"


def load(
    path: Path | None, train_samples: int | None = None, test_samples: int | None = None
) -> Samples:
    """Return recordings from `path`, or MNIST's images, pixel by pixel, where it is None.

    `path` is a folder or a tar archive of 16-bit WAV files of one channel. They are from Speech
    Commands (`<word>/<speaker>_nohash_<n>.wav`, and testing_list.txt with the test files), or from
    the free spoken digit data set (`<digit>_<speaker>_<n>.wav`; n below 5 is for the test). Inputs
    are int16 [samples, 1, points]: one second at the rate of the first recording, cut off or padded
    with silence. Raises InputError with the file at fault.
    """
    if path is None:
        return _images_as_signals().first(train_samples, test_samples)
    found = names(path)
    commands = {name: match[1] for name in found if (match := _COMMAND.search(name))}
    digits = {name: match for name in found if (match := _DIGIT.search(name))}
    if commands:
        lists = [name for name in found if name.rsplit("/", 1)[-1] == _TEST_LIST]
        if not lists:
            raise InputError(f"--data {path}: found no {_TEST_LIST}; it says what is for the test")
        listed = set(read(path, lists[:1])[lists[0]].decode().split())
        words, name = commands, "Speech Commands"
        test = [file for file in words if "/".join(file.split("/")[-2:]) in listed]
    elif digits:
        words, name = {file: match[1] for file, match in digits.items()}, "free spoken digits"
        test = [file for file, match in digits.items() if int(match[2]) < 5]
    else:
        raise InputError(
            f"--data {path}: found neither <word>/<speaker>_nohash_<n>.wav "
            f"nor <digit>_<speaker>_<n>.wav there"
        )
    classes = sorted(set(words.values()))
    for_test = set(test)
    parts = [
        ([file for file in words if file not in for_test], train_samples),
        (test, test_samples),
    ]
    chosen = []
    for files, limit in parts:
        labels = np.array([classes.index(words[file]) for file in files], dtype=np.int64)
        order = interleaved(labels)[:limit]
        chosen.append(([files[index] for index in order], labels[order]))
    if not all(files for files, _ in chosen):
        raise InputError(f"--data {path}: no recordings for training, or none for the test")
    content = read(path, [file for files, _ in chosen for file in files])
    rate = _recording(path, chosen[0][0][0], content)[0]
    splits = [Split(_seconds(path, files, content, rate), labels) for files, labels in chosen]
    return Samples(
        name, f"recordings at {rate} Hz in {path}", splits[0], splits[1], classes=len(classes)
    )


def _recording(
    path: Path, file: str, content: dict[str, bytes]
) -> tuple[int, npt.NDArray[np.int16]]:
    """Return the rate in Hz, and the points."""
    try:
        with wave.open(io.BytesIO(content[file])) as sound:
            kind = (sound.getnchannels(), sound.getsampwidth())
            rate, points = sound.getframerate(), sound.readframes(sound.getnframes())
    except (wave.Error, EOFError) as error:
        raise InputError(f"{path}: {file}: not a readable WAV file: {error}") from None
    if kind != (1, 2):
        raise InputError(f"{path}: {file}: {kind[0]} channels of {8 * kind[1]} bits, not 1 of 16")
    return rate, np.frombuffer(points[: len(points) // 2 * 2], "<i2")


def _seconds(
    path: Path, files: list[str], content: dict[str, bytes], rate: int
) -> npt.NDArray[np.int16]:
    """Return one second of each file, [files, 1, rate]."""
    sounds = np.zeros((len(files), 1, rate), dtype=np.int16)
    for sound, file in zip(sounds, files, strict=True):
        own_rate, points = _recording(path, file, content)
        if own_rate != rate:
            raise InputError(f"{path}: {file}: recorded at {own_rate} Hz, others at {rate} Hz")
        sound[0, : len(points)] = points[:rate]
    return sounds


def _images_as_signals() -> Samples:
    images = mnist.load(None)
    return replace(
        images,
        name="MNIST, pixel by pixel",
        source=f"{images.source}, in place of Speech Commands, which no package carries",
        train=_signals(images.train),
        test=_signals(images.test),
    )


def _signals(images: Split) -> Split:
    """Return the concatenated rows of each image, with grey values around 0."""
    points = images.inputs.reshape(len(images), 1, -1).astype(np.int16)
    return Split((points - 128) * 256, images.labels)
