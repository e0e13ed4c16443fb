"""The methods of Spark's own library, MLlib.

Hyperparameters have MLlib's names in snake case: `max_iter` is `maxIter`.
"""

import importlib
from typing import Any

from trimtab.characterization.methods.base import FittedModel, Training
from trimtab.characterization.platform import Values
from trimtab.config.groups.learning.workload import Method

_CLASSES = {
    Method.KMEANS: ("clustering", "KMeans"),
    Method.BISECTING_KMEANS: ("clustering", "BisectingKMeans"),
    Method.GAUSSIAN_MIXTURE: ("clustering", "GaussianMixture"),
    Method.DECISION_TREE: ("classification", "DecisionTreeClassifier"),
    Method.MULTILAYER_PERCEPTRON: ("classification", "MultilayerPerceptronClassifier"),
    Method.LOGISTIC_REGRESSION: ("classification", "LogisticRegression"),
    Method.LINEAR_REGRESSION: ("regression", "LinearRegression"),
    Method.RANDOM_FOREST: ("regression", "RandomForestRegressor"),
    Method.GRADIENT_BOOSTED_TREES: ("regression", "GBTRegressor"),
}


def has(method: Method) -> bool:
    """Return whether `method` is one of MLlib's."""
    return method in _CLASSES


def fit(method: Method, training: Training, hyperparameters: Values) -> FittedModel:
    """Return the model that `method` learns.

    Raises as MLlib does, as for an invalid value.
    """
    module, name = _CLASSES[method]
    given: dict[str, Any] = dict(hyperparameters)
    data = training.data
    if method == Method.MULTILAYER_PERCEPTRON:
        given["layers"] = [data.features.shape[1], given.pop("hidden_units"), data.classes]
    if method == Method.LOGISTIC_REGRESSION:
        given["family"] = "binomial"
    estimator = getattr(importlib.import_module(f"pyspark.ml.{module}"), name)()
    if estimator.hasParam("seed"):
        given["seed"] = training.seed
    for parameter, value in given.items():
        estimator.set(estimator.getParam(_camel_case(parameter)), value)
    model: FittedModel = estimator.fit(training.frame)
    return model


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
