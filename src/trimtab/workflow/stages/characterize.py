"""Stage characterize: what parameters do to learning on Spark."""

from typing import Any, ClassVar

from trimtab.config.stages import CharacterizeStage
from trimtab.workflow.stage import Stage


class CharacterizeCells(Stage):
    """Characterizations, on the experiment's hardware."""

    cells: ClassVar = {"characterization": "characterizations", "hardware": "hardware"}
    handed_on = ("runs.parquet",)
    target = "characterizations"

    def given(self, wildcards: Any) -> CharacterizeStage:
        """Return what a job is given."""
        asked = self.config.option("characterization", wildcards.characterization)
        return CharacterizeStage(
            characterization=asked,
            workloads=self.config.options("learning", asked.workloads),
            hardware=self.config.option("hardware", wildcards.hardware),
        )
