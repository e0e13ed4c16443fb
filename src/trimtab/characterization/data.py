"""The data sets that workloads learn from: copies that packages carry, or files by their path."""

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trimtab.config.groups.learning.workload import DataFormat, LearningTask, LearningWorkload
from trimtab.errors import UserError
from trimtab.workloads.data import InputError, Samples, mnist

Floats = npt.NDArray[np.float64]
_CARRIED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
_MOST_VALUES = 1 << 31  # 16 GiB
_MOST_CLASSES = 1000


@dataclass(frozen=True)
class DataSet:
    """Records to learn from: `features` [records, features], `labels` [records], both float64.

    Features have mean 0 and variance 1 over the records that are trained on. `held_out` [records]
    says which are not. Classes are numbered from 0; `classes` is 0 where there are none. `source`
    is where this copy came from.
    """

    source: str
    features: Floats
    labels: Floats
    held_out: npt.NDArray[np.bool_]
    classes: int


def load(workload: LearningWorkload) -> DataSet:
    """Return the data set of a workload, a quarter of it held out unless it has its own test part.

    Raises UserError for a data set that there is not, a file that is damaged, and labels that the
    workload's method cannot learn.
    """
    source, features, labels, held_out = _read(workload)
    if features.ndim != 2 or len(features) < 8 or not features.shape[1]:
        raise UserError(f"{source}: expected 8 records or more, with features")
    if not (np.isfinite(features).all() and np.isfinite(labels).all()):
        raise UserError(f"{source}: a feature or label is missing or no finite number")
    if held_out is None:
        held_out = np.zeros(len(labels), dtype=np.bool_)
        chosen = np.random.default_rng(0).choice(len(labels), len(labels) // 4, replace=False)
        held_out[chosen] = True
    classes = 0
    if workload.method.task == LearningTask.CLASSIFICATION:
        values, numbers = np.unique(labels, return_inverse=True)
        classes, labels = len(values), numbers.astype(np.float64)
        if not 2 <= classes <= _MOST_CLASSES:
            raise UserError(f"{source}: {classes} classes; expected 2 to {_MOST_CLASSES}")
    trained = features[~held_out]
    spread = trained.std(axis=0)
    features = (features - trained.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return DataSet(source, features, labels, held_out, classes)


def _read(workload: LearningWorkload) -> tuple[str, Floats, Floats, Any]:
    """Return source, features, labels and which records are held out, None where nothing says."""
    if workload.location is None:
        return _carried(workload.data)
    path = Path(workload.location)
    try:
        match workload.format:
            case DataFormat.IDX:
                return _joined(mnist.load(path))
            case DataFormat.LIBSVM:
                features, labels = _of_libsvm(path)
            case DataFormat.CSV:
                features, labels = _of_csv(path, workload.label_column)
    except (InputError, OSError) as error:
        raise UserError(f"{path}: {error}") from None
    return str(path), features, labels, None


def _carried(name: str) -> tuple[str, Floats, Floats, Any]:
    if name == "mnist_sample":
        try:
            return _joined(mnist.load(None))
        except InputError as error:
            raise UserError(str(error)) from None
    if name not in _CARRIED:
        known = ", ".join((*_CARRIED, "mnist_sample"))
        raise UserError(f"data set {name}: no package carries it; expected a location, or {known}")
    import sklearn.datasets  # takes a second

    features, labels = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
    source = f"{name} of scikit-learn {version('scikit-learn')}"
    return source, features.astype(np.float64), labels.astype(np.float64), None


def _joined(samples: Samples) -> tuple[str, Floats, Floats, npt.NDArray[np.bool_]]:
    inputs = np.concatenate([samples.train.inputs, samples.test.inputs])
    labels = np.concatenate([samples.train.labels, samples.test.labels])
    held_out = np.arange(len(labels)) >= len(samples.train)
    features = inputs.reshape(len(inputs), -1).astype(np.float64)
    return samples.source, features, labels.astype(np.float64), held_out


def _of_libsvm(path: Path) -> tuple[Floats, Floats]:
    from sklearn.datasets import load_svmlight_file

    try:
        features, labels = load_svmlight_file(str(path), dtype=np.float64)
    except (ValueError, OverflowError, EOFError) as error:
        raise UserError(f"{path}: no libsvm file: {' '.join(str(error).split())}") from None
    if features.shape[0] * features.shape[1] > _MOST_VALUES:
        raise UserError(f"{path}: {features.shape} records and features are more than fit")
    return features.toarray(), labels


def _of_csv(path: Path, label_column: int) -> tuple[Floats, Floats]:
    import pyarrow as pa
    import pyarrow.csv

    try:
        table = pyarrow.csv.read_csv(
            path, read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True)
        )
        columns = [column.cast(pa.float64()).to_numpy() for column in table.columns]
    except pa.ArrowException as error:
        raise UserError(f"{path}: no table of numbers: {' '.join(str(error).split())}") from None
    if not -len(columns) <= label_column < len(columns):
        raise UserError(f"{path}: {len(columns)} columns, the label's is to be {label_column}")
    labels = columns.pop(label_column)
    features = np.column_stack(columns) if columns else np.empty((len(labels), 0))
    return features, labels
