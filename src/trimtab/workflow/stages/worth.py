"""Stage worth: what each stage of the chain saves the jobs of a trace."""

from dataclasses import replace
from typing import Any, ClassVar

from trimtab.config.groups.debloat import Start
from trimtab.config.groups.jobs.worth import PricesConfig
from trimtab.config.stages import WorthStage
from trimtab.workflow.stage import Stage
from trimtab.workflow.stages.schedule import ScheduleCells
from trimtab.workflow.stages.tune import TuneCells


class WorthStages(Stage):
    """Clusters, traces and policies of batch queues."""

    cells: ClassVar = {
        "cluster": "worth.clusters", "trace": "worth.traces",
        "queue_policy": "worth.queue_policies",
    }  # fmt: skip
    handed_on = ("worth.json",)
    resolved = ("cluster", "trace")
    target = "worth"

    def environments(self, wildcards: Any) -> list[str]:
        """Return sizes, times and saved starts of the slim environments of classes' workloads."""
        schedule = ScheduleCells(self.config)
        is_quick = self.config.root.debloat.start == Start.SNAPSHOT
        names = ("manifest.json", "compressed.json", *["start.json"] * is_quick)
        return [path for name in names for path in schedule.debloated(name)(wildcards)]

    def measured(self, wildcards: Any) -> list[str]:
        """Return what was measured of the classes elsewhere."""
        classes = ScheduleCells(self.config).classes(wildcards)
        return [facts.measured for facts in classes if facts.measured]

    def searches(self, wildcards: Any) -> list[str]:
        """Return the trials of each tuner for the workloads that `tuned` names."""
        tune = self.experiment.tune
        return [
            path
            for workload in dict.fromkeys(self.experiment.worth.tuned.values())
            for path in TuneCells.paths(
                "trials.parquet",
                tuner=tune.tuners,
                workload=[workload],
                hardware=self.experiment.hardware[:1],
                objective=tune.objectives[:1],
            )
        ]

    def given(self, wildcards: Any) -> WorthStage:
        """Return what weighing a cell is given."""
        worth = self.experiment.worth
        cell = replace(
            worth,
            clusters=[wildcards.cluster],
            traces=[wildcards.trace],
            queue_policies=[wildcards.queue_policy],
        )
        objective = self.config.option("objective", worth.objective) if worth.objective else None
        return WorthStage(
            **vars(ScheduleCells(self.config).of_trace(wildcards)),
            worth=cell,
            prices=objective.prices if objective else PricesConfig(),
        )
