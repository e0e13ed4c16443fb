"""Texts by topic: a local copy of 20 Newsgroups or AG News, or manuals in packages."""

import csv
import io
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

from trimtab.workloads.data import InputError, Labels, Samples, Split, interleaved, package_folder
from trimtab.workloads.data.files import names, read
from trimtab.workloads.data.translation import PADDING, Vocabulary

LENGTH = 128  # tokens of a text; the rest is cut off
_LARGEST = 400  # most texts of a topic from the manuals
_WORD = re.compile(r"[a-z]+|\d+")
_MESSAGE = re.compile(r"(?:^|/)[^/]*(train|test)/([^/]+)/[^/]+$")
_MANUAL = re.compile(r'"""(.{80,}?)"""', re.DOTALL)
_PACKAGES = {"scipy": "scipy", "sklearn": "scikit-learn"}

Labelled = tuple[list[str], Labels]


def load_newsgroups(
    path: Path | None, train_samples: int | None = None, test_samples: int | None = None
) -> Samples:
    """Return 20 Newsgroups from `path`, or 20 topics of the manuals where it is None.

    `path` is a folder or a tar archive of messages named `..train/<group>/<message>` and
    `..test/<group>/<message>`, as in 20news-bydate; their headers are left out. Inputs are int64
    [samples, LENGTH]. `train_samples` and `test_samples` keep the first of each split. Raises
    InputError with the fault.
    """
    if path is None:
        return _manuals(20, "20 Newsgroups").first(train_samples, test_samples)
    matches = [match for match in map(_MESSAGE.search, names(path)) if match]
    groups = sorted({match[2] for match in matches})
    if {match[1] for match in matches} != {"train", "test"} or len(groups) < 2:
        raise InputError(
            f"--data {path}: found no messages named ...train/<group>/<message> and "
            f"...test/<group>/<message> of two groups or more there"
        )
    content = read(path, [match.string for match in matches])

    def split(name: str) -> Labelled:
        chosen = [match for match in matches if match[1] == name]
        texts = [content[match.string].decode("latin-1") for match in chosen]
        bodies = [text.partition("\n\n")[2] or text for text in texts]
        return bodies, np.array([groups.index(match[2]) for match in chosen], dtype=np.int64)

    made = _encoded("20 Newsgroups", f"messages in {path}", split("train"), split("test"))
    return made.first(train_samples, test_samples)


def load_ag_news(
    path: Path | None, train_samples: int | None = None, test_samples: int | None = None
) -> Samples:
    """Return AG News from `path`, or 4 topics of the manuals where it is None.

    `path` is a folder with `train.csv` and `test.csv`, or one such file, a fifth of which is for
    the test. Lines have a class from 1 to 4, a title and a description. Otherwise as
    load_newsgroups.
    """
    if path is None:
        return _manuals(4, "AG News").first(train_samples, test_samples)
    if path.is_dir():
        train, test = _items(path / "train.csv"), _items(path / "test.csv")
    else:
        train, test = _divided(*_items(path))
    made = _encoded("AG News", f"items in {path}", train, test)
    return made.first(train_samples, test_samples)


def _items(path: Path) -> Labelled:
    try:
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
        labels = np.array([int(row[0]) - 1 for row in rows], dtype=np.int64)
        texts = [f"{row[1]} {row[2]}" for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error, ValueError, IndexError) as error:
        raise InputError(
            f"{path}: {error}; expected lines of a class from 1 to 4, a title and a description"
        ) from None
    if not rows or labels.min() < 0 or labels.max() > 3:
        raise InputError(f"{path}: expected items of classes from 1 to 4")
    return texts, labels


def _manuals(topics: int, in_place_of: str) -> Samples:
    """Return the texts of the sub-packages of SciPy and scikit-learn with most manuals.

    A text is the docstring of a function, class or module.
    """
    texts: dict[str, list[str]] = {}
    for package in _PACKAGES:
        folder = package_folder(package, "texts")
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder).parts
            if len(parts) > 1 and not {"tests", "externals", "_lib", "utils"} & set(parts):
                found = _MANUAL.findall(file.read_text(encoding="utf-8"))
                texts.setdefault(f"{package}.{parts[0]}", []).extend(found)
    largest = sorted(texts, key=lambda topic: (-len(texts[topic]), topic))[:topics]
    kept = [(text, label) for label, topic in enumerate(largest)
            for text in dict.fromkeys(texts[topic][:_LARGEST])]  # fmt: skip
    labels = np.array([label for _, label in kept], dtype=np.int64)
    versions = " and ".join(f"{name} {version(name)}" for name in _PACKAGES.values())
    return _encoded(
        f"manuals of SciPy and scikit-learn, {topics} topics",
        f"{len(kept):,} texts carried by {versions}, in place of {in_place_of}, which no package "
        f"carries",
        *_divided([text for text, _ in kept], labels),
    )


def _divided(texts: Sequence[str], labels: Labels) -> tuple[Labelled, Labelled]:
    """Return the training part, and the test part: every fifth text of each label."""
    for_test = np.zeros(len(labels), dtype=np.bool_)
    for label in np.unique(labels):
        for_test[np.flatnonzero(labels == label)[4::5]] = True
    train, test = np.flatnonzero(~for_test).tolist(), np.flatnonzero(for_test).tolist()
    if not test:
        raise InputError(
            f"{len(labels)} texts; expected 5 or more of a class: some are for the test"
        )
    return ([texts[i] for i in train], labels[train]), ([texts[i] for i in test], labels[test])


def _encoded(name: str, source: str, train: Labelled, test: Labelled) -> Samples:
    """Return the texts as token numbers, taking the classes in turn."""
    words = [[_WORD.findall(text.lower())[:LENGTH] for text in texts] for texts, _ in (train, test)]
    vocabulary = Vocabulary(words[0])
    splits = []
    for texts, (_, labels) in zip(words, (train, test), strict=True):
        tokens = np.full((len(texts), LENGTH), PADDING, dtype=np.int64)
        for row, text in zip(tokens, texts, strict=True):
            numbers = vocabulary.encode(text)[1:-1]  # without BEGIN and END
            row[: len(numbers)] = numbers
        splits.append(Split(tokens, labels).of(interleaved(labels)))
    classes = int(max(train[1].max(), test[1].max())) + 1
    return Samples(name, source, splits[0], splits[1], classes=classes, tokens=len(vocabulary))
