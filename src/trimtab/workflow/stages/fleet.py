"""Stage fleet: images that share layers, made slim together."""

from typing import Any, ClassVar

from trimtab.config.stages import FleetStage
from trimtab.workflow.stage import Stage
from trimtab.workflow.stages.profile import ProfileCells


class FleetCells(Stage):
    """The fleets of the experiment, on its hardware."""

    cells: ClassVar = {"fleet": "fleets", "hardware": "hardware"}
    handed_on = ("fleet.json",)

    def usages(self, wildcards: Any) -> list[str]:
        """Return the profiles of the workloads of a fleet's targets."""
        workloads = [name for of in self.given(wildcards).targets.values() for name in of]
        return ProfileCells.paths("usage.json", workload=workloads, hardware=[wildcards.hardware])

    def given(self, wildcards: Any) -> FleetStage:
        """Return what a job is given."""
        members = self.experiment.fleets[wildcards.fleet]
        return FleetStage({name: self.experiment.targets[name] for name in members})
