"""Stage tune: searches for the best configuration."""

from typing import Any, ClassVar

from trimtab.config.stages import TuneStage
from trimtab.workflow.stage import Stage


class TuneCells(Stage):
    """Tuners, workloads and objectives, on the experiment's hardware."""

    cells: ClassVar = {
        "tuner": "tune.tuners", "workload": "tune.workloads", "hardware": "hardware",
        "objective": "tune.objectives",
    }  # fmt: skip
    handed_on = ("trials.parquet",)
    reported = ("workload", "tuner")
    resolved = ("objective",)
    target = "tune"

    def results(self) -> list[str]:
        """Return trials, and where the experiment wants it what using models costs alone."""
        alone = ["inference_alone.parquet"] if self.experiment.tune.inference_alone else []
        return self.files(*self.handed_on, *alone)

    def searched_before(self, wildcards: Any) -> list[str]:
        """Return the searches whose ground truth a cell's tuner begins with, if it names any."""
        before = self.config.option("tuner", wildcards.tuner).after
        cell = {**wildcards, "tuner": before}
        return [f"{self.folder}/trials.parquet".format(**cell)] if before is not None else []

    def characterized_before(self, wildcards: Any) -> list[str]:
        """Return the runs that show which parameters of a workload matter, if it names any."""
        tuning = self.config.option("workload", wildcards.workload).tuning
        there = tuning is not None and tuning.characterized is not None
        return [tuning.characterized.runs] if there else []

    def on_machines(self, wildcards: Any) -> list[str]:
        """Return what the machines that share a cell's searches leave; of one machine nothing."""
        tune = self.experiment.tune
        if tune.machines == 1:
            return []
        return self.paths(
            "machines/seed_{seed}_{machine}.json",
            **{name: [chosen] for name, chosen in wildcards.items()},
            seed=map(str, range(1, tune.seeds + 1)),
            machine=map(str, range(1, tune.machines + 1)),
        )

    def given(self, wildcards: Any, seeds: int = 1) -> TuneStage:
        """Return what `seeds` searches of a cell are given."""
        tune, config = self.experiment.tune, self.config
        return TuneStage(
            workload=config.option("workload", wildcards.workload),
            hardware=config.option("hardware", wildcards.hardware),
            tuner=config.option("tuner", wildcards.tuner),
            objective=config.option("objective", wildcards.objective),
            seeds=seeds,
            workers=tune.workers,
            machines=tune.machines,
            database=tune.database,
            inference_workload=config.inference_workload(wildcards.workload),
            inference_hardware=config.inference_hardware(wildcards.workload),
        )

    def all_seeds(self, wildcards: Any) -> TuneStage:
        """Return what all searches of a cell are given."""
        return self.given(wildcards, self.experiment.tune.seeds)
