"""Data sets in packages: installed Python packages, and some of Debian's."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from trimtab.characterization.debian import NAMES as OF_DEBIAN
from trimtab.errors import UserError
from trimtab.installation import how_to_get
from trimtab.places import OPTIONAL_PARTS
from trimtab.workloads.data import InputError, Samples, mnist

Floats = npt.NDArray[np.float64]
_OF_SCIKIT_LEARN = ("breast_cancer", "diabetes", "digits", "iris", "wine")
_BUILD = OPTIONAL_PARTS / "data"
_WORDS = 256  # features of a text: a square, for networks


@dataclass(frozen=True)
class DataRecords:
    """Records as read: `features` [records, features], `labels` [records].

    `held_out` [records] is the data set's own test part, or None. `source` is the origin of this
    copy.
    """

    source: str
    features: Floats
    labels: Floats
    held_out: npt.NDArray[np.bool_] | None = None


def packaged_data_sets(name: str) -> DataRecords:
    """Return the records of a data set in a package.

    Raises UserError where no package has it, or it is not installed.
    """
    if name in OF_DEBIAN:
        return _of_debian(name)
    if name == "mnist_sample":
        try:
            return of_samples(mnist.load(None))
        except InputError as error:
            raise UserError(str(error)) from None
    if name in _OF_SCIKIT_LEARN:
        import sklearn.datasets  # takes a second

        features, labels = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
        source = f"{name} of scikit-learn {version('scikit-learn')}"
        return DataRecords(source, features.astype(np.float64), labels.astype(np.float64))
    known = ", ".join((*_OF_SCIKIT_LEARN, "mnist_sample", *OF_DEBIAN))
    raise UserError(f"data set {name}: no package carries it; expected a location, or {known}")


def of_samples(samples: Samples) -> DataRecords:
    """Return training and test part together, with pictures as rows of numbers."""
    inputs = np.concatenate([samples.train.inputs, samples.test.inputs])
    labels = np.concatenate([samples.train.labels, samples.test.labels]).astype(np.float64)
    features = inputs.reshape(len(inputs), -1).astype(np.float64)
    return DataRecords(
        samples.source, features, labels, np.arange(len(labels)) >= len(samples.train)
    )


def _of_debian(name: str) -> DataRecords:
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(_BUILD / f"{name}.parquet")
    except FileNotFoundError:
        raise UserError(
            f"data set {name}: not there yet; Debian carries it: {how_to_get('deps-data')}"
        ) from None
    source = table.schema.metadata[b"source"].decode()
    columns: dict[str, Any] = {key: table[key].to_numpy() for key in table.column_names}
    labels, held_out = columns.pop("label"), columns.pop("held_out", None)
    if "text" in columns:
        return DataRecords(source, _word_weights(columns["text"], ~held_out), labels, held_out)
    return DataRecords(source, np.column_stack(list(columns.values())), labels, held_out)


def _word_weights(texts: Any, trained: Any) -> Floats:
    """Return the TF-IDF weights [texts, words] of the most frequent words in the training part."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    weights = TfidfVectorizer(stop_words="english", max_features=_WORDS).fit(texts[trained])
    return np.asarray(weights.transform(texts).toarray(), dtype=np.float64)
