"""Stage schedule: jobs on clusters under policies."""

from typing import Any, ClassVar

from snakemake.io import expand

from trimtab.config.groups.trace import JobClassConfig
from trimtab.config.stages import DeflateStage, RealStage, ScheduleStage, TraceStage
from trimtab.workflow.stage import Given, Stage
from trimtab.workflow.stages.debloat import DebloatCells


class ScheduleCells(Stage):
    """Clusters, traces and policies."""

    cells: ClassVar = {
        "cluster": "schedule.clusters", "trace": "schedule.traces", "policy": "schedule.policies",
    }  # fmt: skip
    handed_on = (
        "summary.json", "jobs.parquet", "allocations.parquet", "nodes.parquet", "load.parquet",
    )  # fmt: skip
    reported = ("policy",)
    resolved = ("cluster", "trace")
    target = "schedule"
    wanted = ("summary.json",)

    def results(self) -> list[str]:
        """Return the files of cells, formulas and real runs where there are any, and of traces."""
        schedule = self.experiment.schedule
        formulas = self.files("formula.json") if schedule.formula else []
        real = self.files("real.json") if schedule.real else []
        of_traces = [*self.of_traces("trace.json"), *self.deflators()]
        return [*super().results(), *formulas, *real, *of_traces]

    def targets(self) -> list[str]:
        """Return what was simulated and what the deflator found."""
        return [*super().targets(), *self.deflators()]

    def options(self, whole: bool) -> dict[str, list[str]]:
        """Return the hardware of the clusters' nodes too, and the objectives of the deflator."""
        schedule = self.experiment.schedule
        clusters = self.config.options("cluster", schedule.clusters)
        more = {"hardware": [node_type for cluster in clusters for node_type in cluster.nodes]}
        if whole:
            more["objective"] = schedule.objectives
        return super().options(whole) | more

    def deflators(self) -> list[str]:
        """Return what the deflator finds, for every objective, cluster and trace."""
        objectives = self.experiment.schedule.objectives
        return [path for name in objectives for path in self.of_traces(f"deflator_{name}.json")]

    def of_traces(self, name: str) -> list[str]:
        """Return the file `name` of every cluster and trace."""
        schedule, folder = self.experiment.schedule, self.folder.removesuffix("{policy}")
        found: list[str] = expand(folder + name, cluster=schedule.clusters, trace=schedule.traces)
        return found

    def classes(self, wildcards: Any) -> list[JobClassConfig]:
        """Return the classes of a trace."""
        return list(self.config.option("trace", wildcards.trace).classes.values())

    def recorded(self, wildcards: Any) -> list[str]:
        """Return the files of a recorded trace, and those of starts of its classes' images."""
        files = self.config.option("trace", wildcards.trace).arrivals.files.values()
        starts = [
            path
            for facts in self.classes(wildcards)
            for path in (facts.image_start, facts.measured)
            if path
        ]
        return [path for paths in files for path in paths] + starts

    def debloated(self, name: str) -> Given:
        """Return the input that is a file of each target that a trace's classes need.

        That is, for each workload that they name, of the first target that keeps it.
        """
        return lambda wildcards: DebloatCells.paths(
            name, target=self._targets(wildcards), hardware=self.experiment.hardware[:1]
        )

    def _targets(self, wildcards: Any) -> list[str]:
        named = dict.fromkeys(facts.workload for facts in self.classes(wildcards) if facts.workload)
        return [
            next(target for target, names in self.experiment.targets.items() if workload in names)
            for workload in named
        ]

    def of_trace(self, wildcards: Any) -> TraceStage:
        """Return what the jobs of a trace on a cluster depend on."""
        cluster = self.config.option("cluster", wildcards.cluster)
        return TraceStage(
            cluster=cluster,
            hardware=self.config.options("hardware", cluster.nodes),
            trace=self.config.trace(wildcards.trace),
            enclaves=self.config.enclaves(wildcards.cluster, wildcards.trace),
        )

    def given(self, wildcards: Any) -> ScheduleStage:
        """Return what scheduling a cell is given."""
        return ScheduleStage(
            **vars(self.of_trace(wildcards)),
            policy=self.config.option("policy", wildcards.policy),
            replications=self.experiment.schedule.replications,
            baseline=wildcards.policy == self.experiment.schedule.baseline_policy,
        )

    def deflate(self, wildcards: Any) -> DeflateStage:
        """Return what the deflator is given."""
        return DeflateStage(
            **vars(self.of_trace(wildcards)),
            objective=self.config.option("objective", wildcards.objective),
        )

    def real(self, wildcards: Any) -> RealStage:
        """Return what running a cell for real is given."""
        schedule = self.experiment.schedule
        assert schedule.real is not None  # else no file of a real run is asked for
        return RealStage(
            **vars(self.given(wildcards)), platform=schedule.real, scale=schedule.real_scale
        )
