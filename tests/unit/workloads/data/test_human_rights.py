import numpy as np
from sklearn.datasets import load_digits

from trimtab.workloads.data import digits, sentences, translation
from trimtab.workloads.data.sentences import HUMAN_RIGHTS


def test_pairs_are_those_of_thirty_articles_and_the_preamble():
    pairs = translation.load(HUMAN_RIGHTS)
    assert (len(pairs.train), len(pairs.test)) == (36, 32)
    assert pairs.name == "English-German, human_rights"
    english, german = sentences.load("en"), sentences.load("de")
    assert len(english) == len(german) == len(set(english)) == len(set(german)) == 68
    pair = (
        "Everyone has the right to a nationality.",
        "Jeder hat das Recht auf eine Staatsangehörigkeit.",
    )
    assert pair in zip(english, german, strict=True)
    # Aligned by meaning: a sentence and its translation are of about the same length.
    lengths = np.array([[len(text) for text in each] for each in (english, german)])
    assert np.corrcoef(lengths)[0, 1] > 0.95
    assert np.corrcoef(lengths[0], np.roll(lengths[1], 1))[0, 1] < 0.5


def test_digits_are_those_of_scikit_learn_in_the_shape_asked_for():
    images, theirs = digits.load(), load_digits()
    assert images.train.inputs.shape == (1437, 1, 8, 8) and len(images.test.labels) == 360
    every = np.concatenate([images.train.inputs, images.test.inputs])[:, 0]
    labels = np.concatenate([images.train.labels, images.test.labels])
    assert sorted(
        (label, np.rint(image / 255 * 16).astype(int).tobytes())
        for image, label in zip(every, labels, strict=True)
    ) == sorted(
        (label, image.astype(int).tobytes())
        for image, label in zip(theirs.images, theirs.target, strict=True)
    )
    large = digits.load(channels=3, enlarged=28)
    assert large.test.inputs.shape == (360, 3, 224, 224)
    assert (large.test.inputs[:, :, 27::28, ::28] == images.test.inputs).all()
