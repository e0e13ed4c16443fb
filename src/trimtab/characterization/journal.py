"""The runs of a characterization that are finished, kept as they finish."""

import json
from pathlib import Path
from typing import Any

from trimtab.characterization.plan import KEY, Run
from trimtab.config.stages import CharacterizeStage, dump
from trimtab.records.parquet.journal import RowJournal
from trimtab.records.tables import CHARACTERIZATION_RUNS

_OF_NO_RUN = ("name", "workloads", "platform", "hyperparameters", "repeats", "joint_settings")


class CharacterizationJournal(RowJournal):
    """The rows of finished runs in a file; rows of another engine or other data are passed over."""

    def __init__(self, path: Path, stage: CharacterizeStage) -> None:
        head = {"runs_of": _same_for_all_runs(stage)}
        super().__init__(path, CHARACTERIZATION_RUNS, KEY, head)

    def has(self, run: Run) -> bool:
        """Return whether a run is finished, well or not."""
        return self.row(run.key) is not None


def _same_for_all_runs(stage: CharacterizeStage) -> Any:
    """Return what a run depends on besides its own workload and settings."""
    asked = json.loads(dump(stage))
    for name in _OF_NO_RUN:
        del asked["characterization"][name]
    places = [[each["data"], each["location"], each["format"]] for each in asked.pop("workloads")]
    asked["data"] = sorted(each for each in places if each[1] is not None)
    return asked
