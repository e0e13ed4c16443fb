"""Stage profile: what each workload uses and what it costs."""

from typing import Any, ClassVar

from trimtab.config.stages import ProfileStage
from trimtab.workflow.stage import Stage


class ProfileCells(Stage):
    """The workloads of all targets, on the experiment's hardware."""

    cells: ClassVar = {"workload": "workloads", "hardware": "hardware"}
    handed_on = ("usage.json", "runs.parquet", "epochs.parquet")
    reported = ("workload", "hardware")
    target = "profile"

    def given(self, wildcards: Any) -> ProfileStage:
        """Return what a job is given."""
        return ProfileStage(
            workload=self.config.option("workload", wildcards.workload),
            hardware=self.config.option("hardware", wildcards.hardware),
            profiling=self.config.root.profiling,
            keep_libraries=self.config.root.debloat.keep_libraries,
        )
