"""The journal of finished runs of a characterization."""

import json
from pathlib import Path
from typing import Any

from trimtab.characterization.plan import KEY, Run
from trimtab.config.stages import CharacterizeStage, dump
from trimtab.records.parquet.journal import RowJournal
from trimtab.records.tables import CHARACTERIZATION_RUNS

_OF_NO_RUN = ("name", "workloads", "platform", "hyperparameters", "repeats", "joint_settings")


class CharacterizationJournal(RowJournal):
    """The rows of finished runs in a file, without those of another engine or other data."""

    def __init__(self, path: Path, stage: CharacterizeStage) -> None:
        head = {"runs_of": _same_for_all_runs(stage)}
        super().__init__(path, CHARACTERIZATION_RUNS, KEY, head)

    def has(self, run: Run) -> bool:
        """Return whether a run is finished, successfully or not."""
        return self.row(run.key) is not None


def _same_for_all_runs(stage: CharacterizeStage) -> Any:
    """Return a run's dependencies other than its workload and settings."""
    asked = json.loads(dump(stage))
    for name in _OF_NO_RUN:
        del asked["characterization"][name]
    places = [[each["data"], each["location"], each["format"]] for each in asked.pop("workloads")]
    asked["data"] = sorted(each for each in places if each[1] is not None)
    return asked
