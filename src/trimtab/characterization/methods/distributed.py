"""Neural networks on Spark: trained by PySpark's TorchDistributor, applied in Spark tasks.

The thesis used BigDL, which does not run on current Spark. TorchDistributor starts a PyTorch
process in every slot, as one barrier stage of Spark. Each learns from its part of the records, and
their gradients are averaged (DistributedDataParallel over gloo).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from trimtab.characterization.methods.base import FittedModel, Training
from trimtab.characterization.platform import Values
from trimtab.config.groups.learning.workload import Method

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from trimtab.characterization.packaged_data_sets import Floats

Weights = dict[str, np.ndarray[Any, Any]]


def fit(method: Method, training: Training, hyperparameters: Values) -> FittedModel:
    """Return the network `method`, trained on all slots."""
    from pyspark.ml.torch.distributor import TorchDistributor

    data = training.data
    trained = ~data.held_out
    weights: Weights = TorchDistributor(
        num_processes=training.slots, local_mode=False, use_gpu=False
    ).run(
        train,
        str(method),
        data.features[trained].astype(np.float32),
        data.labels[trained].astype(np.int64),
        data.classes,
        dict(hyperparameters),
        training.seed,
    )
    return NetworkModel(method, weights, data.features.shape[1], data.classes)


def train(
    method: str,
    features: Floats,
    labels: np.ndarray[Any, Any],
    classes: int,
    hyperparameters: dict[str, Any],
    seed: int,
) -> Weights:
    """Train in each of several processes, and return the weights, equal in all.

    The processes share a batch of `batch_size` records.
    """
    import torch
    from torch import distributed, nn

    from trimtab.characterization.methods.networks import network

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    distributed.init_process_group("gloo")
    rank, processes = distributed.get_rank(), distributed.get_world_size()
    even = len(labels) // processes * processes  # all have as many batches
    own_features = torch.from_numpy(features[:even][rank::processes].copy())
    own_labels = torch.from_numpy(labels[:even][rank::processes].copy())
    model = nn.parallel.DistributedDataParallel(network(Method(method), features.shape[1], classes))
    optimizer = torch.optim.Adam(model.parameters(), lr=hyperparameters["learning_rate"])
    batch = max(1, hyperparameters["batch_size"] // processes)
    for _ in range(hyperparameters["epochs"]):
        for chosen in torch.randperm(len(own_labels)).split(batch):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(own_features[chosen]), own_labels[chosen])
            loss.backward()
            optimizer.step()
    weights = {name: values.numpy() for name, values in model.module.state_dict().items()}
    distributed.destroy_process_group()
    return weights


@dataclass(frozen=True)
class NetworkModel:
    """A trained network, sent to every task."""

    method: Method
    weights: Weights
    features: int
    classes: int

    def transform(self, frame: DataFrame) -> DataFrame:
        """Return the labels of `frame` and the network's predictions."""
        method, weights, classes = str(self.method), self.weights, self.classes
        features = self.features

        def predict(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa
            import torch

            from trimtab.characterization.methods.networks import network

            torch.set_num_threads(1)
            model = network(Method(method), features, classes)
            model.load_state_dict({key: torch.from_numpy(part) for key, part in weights.items()})
            model.eval()
            for batch in batches:
                values = batch["values"].flatten().to_numpy(zero_copy_only=False)
                records = torch.from_numpy(values.reshape(-1, features).astype(np.float32))
                with torch.no_grad():
                    predicted = model(records).argmax(dim=1).numpy().astype(np.float64)
                yield pa.RecordBatch.from_arrays(
                    [batch["label"], pa.array(predicted)], names=["label", "prediction"]
                )

        return frame.select("values", "label").mapInArrow(
            predict, "label double, prediction double"
        )
