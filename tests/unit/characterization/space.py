"""A characterization that fits on a page, its runs, and rows as they would come of them."""

from collections.abc import Mapping
from typing import Any

from trimtab.characterization.plan import CharacterizationSpace, Run
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.learning.characterization import Characterization
from trimtab.config.groups.learning.workload import LearningWorkload, Method
from trimtab.config.stages import CharacterizeStage
from trimtab.records.tables import CHARACTERIZATION_RUNS

TREE = LearningWorkload("iris_decision_tree", "iris", Method.DECISION_TREE)
MEANS = LearningWorkload("iris_kmeans", "iris", Method.KMEANS)
HERE = Hardware(
    name="here",
    cores=2,
    idle_w=10.0,
    busy_w=20.0,
    memory_w_per_gib=0.1,
    memory_gib=8.0,
    power_source="a test",
)
ASKED = Characterization(
    name="it",
    workloads=["iris_decision_tree", "iris_kmeans"],
    platform={"cores": [1, 2], "shuffle_compress": [True, False]},
    hyperparameters={Method.DECISION_TREE: {"max_depth": [5, 1, 2], "max_bins": [32, 8]}},
    repeats=3,
)
SPACE = CharacterizationSpace(ASKED, [TREE, MEANS])
STAGE = CharacterizeStage(ASKED, [TREE, MEANS], HERE)


def row(run: Run, **values: Any) -> dict[str, Any]:
    """A complete row of `run`, all of its numbers 1 but for `values`."""
    told: Mapping[str, Any] = {
        "workload": run.workload.name,
        "data": run.workload.data,
        "data_source": "a test",
        "method": str(run.workload.method),
        "task": str(run.workload.method.task),
        "engine": "local[1]",
        "phase": run.phase,
        "varied": "+".join(run.varied),
        "settings": run.settings,
        "repeat": run.repeat,
        "complete": True,
        "error": "",
        "quality_measure": "accuracy",
        "energy_source": "modelled",
        "started": "2026-01-01T00:00:00+00:00",
    }
    return {**dict.fromkeys(CHARACTERIZATION_RUNS.names, 1), **told, **values}
