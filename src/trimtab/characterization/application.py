"""One run of a learning workload within Spark: training, inference, quality, and Spark's costs."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.characterization.data import DataSet, load
from trimtab.characterization.methods import distributed, mllib
from trimtab.characterization.methods.base import FittedModel, Training
from trimtab.characterization.platform import Values
from trimtab.config.groups.learning.characterization import PriceModel
from trimtab.config.groups.learning.workload import LearningTask, LearningWorkload
from trimtab.spark.session import Session
from trimtab.spark.task_metrics import sum_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_MEASURES = {
    LearningTask.CLASSIFICATION: "accuracy",
    LearningTask.REGRESSION: "r2",
    LearningTask.CLUSTERING: "silhouette",
}


class Application:
    """The workloads of one session; each data set is sent to Spark once, and kept in memory."""

    def __init__(self, session: Session, platform: Values, price: PriceModel) -> None:
        from pyspark.sql import SparkSession

        self._session, self._price = session, price
        self._partitions = int(platform["parallelism"])
        self._sql = SparkSession(session.context)
        self._data: dict[str, tuple[DataSet, DataFrame, DataFrame]] = {}

    def run(self, workload: LearningWorkload, hyperparameters: Values, seed: int) -> dict[str, Any]:
        """Run a workload and return its columns of the application and of Spark.

        `own_s` are the seconds in which Spark waited for the measurement. Raises UserError for data
        that cannot be learned, and any exception of Spark and the method.
        """
        data, frame, held_out = self._loaded(workload)
        self._session.flush()
        log_bytes, sent_bytes = self._session.event_log.stat().st_size, bytes_sent()
        training = Training(frame, data, self._session.slots, seed)
        begin_s = time.perf_counter()
        method = mllib if mllib.has(workload.method) else distributed
        model = method.fit(workload.method, training, hyperparameters)
        trained_s = time.perf_counter()
        training_bytes = bytes_sent() - sent_bytes
        every = frame.union(held_out)
        begin_use_s = time.perf_counter()
        predictions = model.transform(every).select("prediction")
        predictions.write.format("noop").mode("overwrite").save()
        used_s = time.perf_counter()
        quality = _quality(workload.method.task, model, held_out)
        begin_own_s = time.perf_counter()
        self._session.flush()
        sums = sum_tasks(self._session.event_log, log_bytes)
        network_bytes = bytes_sent() - sent_bytes
        own_s = time.perf_counter() - begin_own_s
        train_s = trained_s - begin_s
        return {
            "data_source": data.source,
            "records": len(data.labels),
            "features": data.features.shape[1],
            "quality": quality,
            "quality_measure": _MEASURES[workload.method.task],
            "train_s": train_s,
            "train_s_per_1000_records": train_s / int(np.count_nonzero(~data.held_out)) * 1000,
            "inference_records_per_s": len(data.labels) / (used_s - begin_use_s),
            "price_usd": price_usd(self._price, train_s, self._session.slots, training_bytes),
            **asdict(sums),
            "network_bytes": network_bytes,
            "own_s": own_s,
        }

    def _loaded(self, workload: LearningWorkload) -> tuple[DataSet, DataFrame, DataFrame]:
        key = f"{workload.data} {workload.method.task}"
        if key not in self._data:
            data = load(workload)
            chosen = (~data.held_out, data.held_out)
            self._data[key] = data, *(self._frame(data, part) for part in chosen)
        return self._data[key]

    def _frame(self, data: DataSet, chosen: np.ndarray[Any, Any]) -> DataFrame:
        """Return records of `data` as a frame for methods, in memory."""
        import pyarrow as pa
        from pyspark.ml.functions import array_to_vector

        features, labels = data.features[chosen], data.labels[chosen]
        values = pa.FixedSizeListArray.from_arrays(features.ravel(), features.shape[1])
        table = pa.table({
            "values": values.cast(pa.list_(pa.float64())), "label": labels
        })  # fmt: skip
        frame = self._sql.createDataFrame(table).repartition(self._partitions)
        frame = frame.withColumn("features", array_to_vector("values")).persist()
        frame.count()
        return frame


def _quality(task: LearningTask, model: FittedModel, held_out: DataFrame) -> float | None:
    """Return a model's quality; None where it puts all records into one cluster."""
    from pyspark.ml import evaluation

    evaluators = {
        LearningTask.CLASSIFICATION: evaluation.MulticlassClassificationEvaluator,
        LearningTask.REGRESSION: evaluation.RegressionEvaluator,
        LearningTask.CLUSTERING: evaluation.ClusteringEvaluator,
    }
    evaluator = evaluators[task](metricName=_MEASURES[task])
    predicted = model.transform(held_out)
    is_clustering = task == LearningTask.CLUSTERING
    if is_clustering and predicted.select("prediction").distinct().count() < 2:
        return None
    return float(evaluator.evaluate(predicted))


def price_usd(price: PriceModel, train_s: float, cores: int, sent_bytes: int) -> float:
    """Return the price of a training on `cores`: its share of instance hours, and its bytes."""
    hours = train_s / 3600 * cores / price.instance_cores
    return hours * price.usd_per_hour + sent_bytes / 1e9 * price.usd_per_gb


def bytes_sent() -> int:
    """Return the bytes sent by all network devices of this machine since boot."""
    lines = Path("/proc/net/dev").read_text().splitlines()[2:]  # without the headings
    return sum(int(line.partition(":")[2].split()[8]) for line in lines)
