"""The data sets of workloads: copies in packages, or files by path."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from trimtab.characterization.packaged_data_sets import (
    DataRecords,
    Floats,
    of_samples,
    packaged_data_sets,
)
from trimtab.config.groups.learning.workload import DataFormat, LearningTask, LearningWorkload
from trimtab.errors import UserError
from trimtab.workloads.data import InputError, mnist

_MOST_VALUES = 1 << 31  # 16 GiB
_MOST_CLASSES = 1000


@dataclass(frozen=True)
class DataSet:
    """Records to learn from: `features` [records, features], `labels` [records], both float64.

    Features have variance 1 over the training records. They have mean 0, except for clusterings,
    which do not need it: MLlib's bisecting k-means cannot divide a cluster with its centre at 0.
    `held_out` [records] marks the others. Classes are numbered from 0; `classes` is 0 without
    classes. `source` is the origin of this copy.
    """

    source: str
    features: Floats
    labels: Floats
    held_out: npt.NDArray[np.bool_]
    classes: int


def load(workload: LearningWorkload) -> DataSet:
    """Return the data set of a workload; a quarter is held out unless it has its own test part.

    Raises UserError for a missing data set, a damaged file, and labels that the workload's method
    cannot learn.
    """
    records = _read(workload)
    source, features, labels = records.source, records.features, records.labels
    held_out = records.held_out
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
    is_clustering = workload.method.task == LearningTask.CLUSTERING
    centre = 0.0 if is_clustering else trained.mean(axis=0)
    features = (features - centre) / np.where(spread > 0, spread, 1.0)
    return DataSet(source, features, labels, held_out, classes)


def _read(workload: LearningWorkload) -> DataRecords:
    if workload.location is None:
        return packaged_data_sets(workload.data)
    path = Path(workload.location)
    try:
        match workload.format:
            case DataFormat.IDX:
                return of_samples(mnist.load(path))
            case DataFormat.LIBSVM:
                return DataRecords(str(path), *_of_libsvm(path))
            case DataFormat.CSV:
                return DataRecords(str(path), *_of_csv(path, workload.label_column))
    except (InputError, OSError) as error:
        raise UserError(f"{path}: {error}") from None


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
