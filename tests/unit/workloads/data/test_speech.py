import wave
from pathlib import Path

import numpy as np
import pytest

from trimtab.workloads.data import InputError, mnist, speech


def write(
    path: Path, points: np.ndarray, rate: int = 100, channels: int = 1, width: int = 2
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(points.astype("<i2").tobytes())


def test_digits_are_cut_to_a_second_and_the_first_of_each_speaker_are_for_the_test(tmp_path):
    for number in (0, 4, 5, 6):
        for digit in (3, 7):
            write(
                tmp_path / "recordings" / f"{digit}_ann_{number}.wav",
                np.arange(60 * number) - digit,
            )
    data = speech.load(tmp_path)
    assert (data.name, data.classes) == ("free spoken digits", 2)
    assert data.source == f"recordings at 100 Hz in {tmp_path}"
    assert data.train.labels.tolist() == data.test.labels.tolist() == [0, 1, 0, 1]
    assert data.train.inputs.shape == (4, 1, 100) and data.train.inputs.dtype == np.int16
    assert data.train.inputs[1, 0].tolist() == list(range(-7, 93))
    assert not data.test.inputs[0].any()  # recordings of no points are silence
    some = speech.load(tmp_path, 2, 1)
    assert (len(some.train), len(some.test)) == (2, 1)


def test_speech_commands_say_what_is_for_the_test(tmp_path):
    for word in ("yes", "no", "_background_noise_"):
        for number in range(3):
            write(tmp_path / word / f"a1_nohash_{number}.wav", np.full(80, number))
    (tmp_path / "LICENSE").write_text("")
    with pytest.raises(InputError, match=r"found no testing_list\.txt"):
        speech.load(tmp_path)
    (tmp_path / "testing_list.txt").write_text("yes/a1_nohash_1.wav\nno/a1_nohash_2.wav\n")
    data = speech.load(tmp_path)
    assert (data.name, data.classes) == ("Speech Commands", 2)
    assert data.test.labels.tolist() == [0, 1] and len(data.train) == 4
    assert data.test.inputs[:, 0, :80].tolist() == [[2] * 80, [1] * 80]
    assert not data.test.inputs[:, 0, 80:].any()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"rate": 200}, "recorded at 200 Hz, others at 100 Hz"),
        ({"channels": 2}, "2 channels of 16 bits, not 1 of 16"),
        ({"width": 1}, "1 channels of 8 bits, not 1 of 16"),
    ],
)
def test_recordings_of_another_kind_are_named(tmp_path, options, expected):
    write(tmp_path / "1_ann_0.wav", np.zeros(10))
    write(tmp_path / "1_ann_5.wav", np.zeros(10))
    write(tmp_path / "1_ann_6.wav", np.zeros(10), **options)
    with pytest.raises(InputError, match=rf"1_ann_6\.wav: {expected}"):
        speech.load(tmp_path)


def test_what_is_no_recording_is_named(tmp_path):
    with pytest.raises(InputError, match=r"found neither <word>/<speaker>_nohash_<n>\.wav"):
        speech.load(tmp_path)
    write(tmp_path / "1_ann_0.wav", np.zeros(10))
    with pytest.raises(InputError, match="no recordings for training"):
        speech.load(tmp_path)
    for content in (b"", b"RIFF\x04\0\0\0WAVE", b"text"):
        (tmp_path / "1_ann_5.wav").write_bytes(content)
        with pytest.raises(InputError, match=r"1_ann_5\.wav: not a readable WAV file"):
            speech.load(tmp_path)


def test_without_a_copy_images_are_read_pixel_by_pixel():
    data, images = speech.load(None), mnist.load(None)
    assert "in place of Speech Commands" in data.source and data.classes == 10
    assert data.train.inputs.shape == (4000, 1, 784)
    assert np.array_equal(data.test.inputs[5, 0] // 256 + 128, images.test.inputs[5].ravel())
    assert data.train.inputs.min() == -(2**15) and data.train.inputs.max() == 127 * 256
