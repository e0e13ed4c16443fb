"""Stage debloat: slim environments, verified."""

from pathlib import Path
from typing import Any, ClassVar

from trimtab.config.groups.debloat import Start
from trimtab.config.stages import DebloatStage, EnvironmentStage, StartStage, VerifyStage
from trimtab.workflow.stage import Given, Stage
from trimtab.workflow.stages.fleet import FleetCells
from trimtab.workflow.stages.profile import ProfileCells


class DebloatCells(Stage):
    """The targets of the experiment, on its hardware."""

    cells: ClassVar = {"target": "targets", "hardware": "hardware"}
    handed_on = (
        "manifest.json", "libraries.parquet", "used.json", "environment.json", "compressed.json",
        "files.parquet", "verify.json", "verify_runs.parquet",
    )  # fmt: skip
    target = "debloat"
    wanted = ("verify.json", "env")

    def results(self) -> list[str]:
        """Return the files that the report is made from, with saved starts if there are any."""
        return [*super().results(), *self._starts()]

    def targets(self) -> list[str]:
        """Return verified environments, their saved starts, and the fleets of these."""
        return [*super().targets(), *self._starts(), *FleetCells(self.config).results()]

    def _starts(self) -> list[str]:
        is_wanted = self.config.root.debloat.start == Start.SNAPSHOT
        # Starts that are there and no longer wanted are removed.
        return [path for path in self.files("start.json") if is_wanted or Path(path).exists()]

    def usages(self, wildcards: Any) -> list[str]:
        """Return the profiles of a target's workloads."""
        workloads = self.experiment.targets[wildcards.target]
        return ProfileCells.paths("usage.json", workload=workloads, hardware=[wildcards.hardware])

    def of_fleet(self, name: str) -> Given:
        """Return the input that is a file of each target of a fleet."""
        return lambda wildcards: self.paths(
            name, target=self.experiment.fleets[wildcards.fleet], hardware=[wildcards.hardware]
        )

    def learned(self, wildcards: Any) -> list[str]:
        """Return what `trimtab advanced learn` found in a target's environment, where it did."""
        path = f"{self.folder}/learned.json".format(**wildcards)
        return [path] if Path(path).exists() else []

    def given(self, wildcards: Any) -> DebloatStage:
        """Return what the removal from a target is given."""
        return DebloatStage(
            target=wildcards.target,
            hardware=wildcards.hardware,
            gpus=self.config.option("hardware", wildcards.hardware).gpus,
            workloads=self.config.workloads(wildcards.target),
            debloat=self.config.root.debloat,
            settle=self.config.root.settle,
        )

    def environment(self, wildcards: Any) -> EnvironmentStage:
        """Return what building an environment is given."""
        debloat = self.config.root.debloat
        return EnvironmentStage(
            debloat.share, debloat.fallback, debloat.store, debloat.store_address
        )

    def verify(self, wildcards: Any) -> VerifyStage:
        """Return what the verification of a target is given."""
        return VerifyStage(
            target=wildcards.target,
            workloads=self.config.workloads(wildcards.target),
            hardware=self.config.option("hardware", wildcards.hardware),
            verify=self.config.root.verify,
        )

    def start(self, wildcards: Any) -> StartStage:
        """Return what saving the starts of a target is given."""
        return StartStage(
            target=wildcards.target,
            hardware=wildcards.hardware,
            workloads=self.config.workloads(wildcards.target),
            start=self.config.root.debloat.start,
        )
