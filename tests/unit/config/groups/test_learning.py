"""What learns, and what is varied: a mistake says which key and what was expected."""

from typing import Any

import pytest

from trimtab.config.groups.learning.characterization import (
    PLATFORM_DEFAULTS,
    Characterization,
)
from trimtab.config.groups.learning.workload import LearningTask, LearningWorkload, Method
from trimtab.config.validate import checked


def characterization(**values: Any) -> Characterization:
    found = checked({"name": "it", "workloads": ["iris_kmeans"], **values}, Characterization)
    assert isinstance(found, Characterization)
    return found


def test_every_default_is_a_level_that_is_taken() -> None:
    characterization(
        platform={name: [default] for name, default in PLATFORM_DEFAULTS.items()},
        hyperparameters={
            str(method): {name: [default] for name, default in method.hyperparameters.items()}
            for method in Method
        },
    )


@pytest.mark.parametrize(
    ("values", "key", "expected"),
    [
        ({"platform": {"nodes": [1]}}, "platform.nodes", "a parameter: one of executors, cores"),
        ({"platform": {"cores": [1, 0]}}, "platform.cores", "at least 1"),
        ({"platform": {"cores": [1.5]}}, "platform.cores", "a whole number"),
        ({"platform": {"cores": [True]}}, "platform.cores", "a number"),
        ({"platform": {"shuffle_compress": [1]}}, "platform.shuffle_compress", "true or false"),
        ({"platform": {"serializer": ["xml"]}}, "platform.serializer", "one of java, kryo"),
        ({"platform": {"memory_mib": [100]}}, "platform.memory_mib", "at least 512"),
        ({"platform": {"memory_fraction": [1]}}, "platform.memory_fraction", "a share, 0.1 to 0.9"),
        ({"platform": {"cores": []}}, "platform.cores", "the default first"),
        ({"platform": {"cores": [1, 1]}}, "platform.cores", "every level once"),
        (
            {"hyperparameters": {"kmeans": {"max_depth": [1]}}},
            "hyperparameters.kmeans.max_depth",
            "a hyperparameter of kmeans: one of k, max_iter",
        ),
        ({"hyperparameters": {"kmeans": {"k": [-1]}}}, "hyperparameters.kmeans.k", "from 0 to"),
        ({"hyperparameters": {"kmeans": {"k": ["2"]}}}, "hyperparameters.kmeans.k", "a number"),
        ({"repeats": 0}, "repeats", "1"),
        ({"workloads": []}, "workloads", "at least one name"),
    ],
)
def test_mistakes_name_their_key(values: dict[str, Any], key: str, expected: str) -> None:
    with pytest.raises(ValueError, match=key) as caught:
        characterization(**values)
    assert expected in str(caught.value)


def test_a_workload_is_named_for_its_data_and_method() -> None:
    with pytest.raises(ValueError, match="`<data>_<method>`: iris_kmeans"):
        checked({"name": "iris", "data": "iris", "method": "kmeans"}, LearningWorkload)


def test_the_methods_are_those_of_the_thesis() -> None:
    by_task = {task: [each for each in Method if each.task == task] for task in LearningTask}
    assert {task: len(methods) for task, methods in by_task.items()} == {
        LearningTask.CLUSTERING: 3,
        LearningTask.REGRESSION: 3,
        LearningTask.CLASSIFICATION: 7,
    }
