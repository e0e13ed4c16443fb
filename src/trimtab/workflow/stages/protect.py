"""Stage protect: task programs in enclaves."""

from dataclasses import replace
from typing import Any, ClassVar

from trimtab.config.stages import ProtectStage
from trimtab.workflow.stage import Stage


class ProtectCells(Stage):
    """Task programs, on the experiment's hardware."""

    cells: ClassVar = {"task_program": "protect.programs", "hardware": "hardware"}
    handed_on = ("runs.parquet",)
    reported = ("task_program",)
    target = "protect"

    def given(self, wildcards: Any) -> ProtectStage:
        """Return what a job is given; the experiment's other programs change nothing of it."""
        protect = self.experiment.protect
        return ProtectStage(
            program=self.config.option("task_program", wildcards.task_program),
            protect=replace(protect, programs=[]),
            enclaves=self.config.options("enclave", protect.costs),
            hardware=self.config.option("hardware", wildcards.hardware),
        )
