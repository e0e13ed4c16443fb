"""The configurations of one experiment: composed from `conf/`, checked, and kept."""

import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from trimtab.config.fields import ConfigError
from trimtab.config.groups.debloat import Fallback, old_keys
from trimtab.config.groups.enclave import Enclave
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.jobs.arrivals import ArrivalKind
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.groups.workload import Phase, Workload
from trimtab.config.protection import has_room, has_secure, unprotected, with_secure_workloads
from trimtab.config.root import GROUPS, CommonConfig, RootConfig
from trimtab.config.validate import checked


class Configurations:
    """Every configuration that an experiment needs, composed once for each option of a group.

    `conf` is the folder with `config.yaml` and the groups; files that it lacks are taken from the
    folder `shipped`. `overrides` are Hydra's, for example `experiment=full` or
    `profiling.repeats=5`. `notes` are lines that a person should read. Raises ConfigError on the
    first mistake in any file that the experiment uses, or without `check` in those of its root.
    """

    def __init__(
        self,
        conf: Path,
        overrides: Sequence[str] = (),
        shipped: Path | None = None,
        *,
        check: bool = True,
    ) -> None:
        # Here, since jobs that only read what a stage is given do without Hydra.
        from trimtab.config.layers import ConfigLayers

        self.conf = conf
        self._layers = ConfigLayers(conf, overrides, shipped)
        self._options: dict[tuple[str, str], Any] = {}
        self.notes: list[str] = []
        self.root = self._root()
        if check:
            self._check()

    def _check(self) -> None:
        for hardware in self.root.experiment.hardware:
            self.option("hardware", hardware)
        for target in self.root.experiment.targets:
            self._check_target(target)
        for fleet in self.root.experiment.fleets:
            self._check_fleet(fleet)
        self._check_schedule()
        self._check_tune()
        self._check_characterizations()
        self._check_protected()

    def option(self, group: str, name: str) -> Any:
        """Return what `conf/{group}/{name}.yaml` says, after the experiment and the overrides."""
        key = (group, name)
        if key not in self._options:
            with self._explained():
                given = self._layers.option(group, name)
                self._options[key] = checked(given, GROUPS[group], group)
            self._check_stem(group, name, self._options[key])
        return self._options[key]

    def options(self, group: str, names: Iterable[str]) -> list[Any]:
        """Return the options of a group that have these names."""
        return [self.option(group, name) for name in names]

    def workloads(self, target: str) -> list[Workload]:
        """Return the workloads whose union `target` keeps."""
        return self.options("workload", self.root.experiment.targets[target])

    def trace(self, name: str) -> TraceConfig:
        """Return the trace `name`, whose classes are secure where the workload they name is."""
        given: TraceConfig = self.option("trace", name)
        named = {facts.workload for facts in given.classes.values() if facts.workload}
        return with_secure_workloads(given, {one: self.option("workload", one) for one in named})

    def enclaves(self, cluster: str, trace: str) -> list[Enclave]:
        """Return the enclaves that the nodes of a cluster have, if the trace needs any."""
        if not has_secure(self.trace(trace)):
            return []
        machines = self.options("hardware", self.option("cluster", cluster).nodes)
        names = dict.fromkeys(one.enclave for one in machines if one.enclave is not None)
        return self.options("enclave", names)

    def check_paths(self, project: Path) -> None:
        """Raise ConfigError unless every workload's `python` and `workdir` are there.

        Relative paths start at the folder `project`.
        """
        for name in self.root.experiment.workloads:
            workload, file = self.option("workload", name), self._file("workload", name)
            if workload.target.is_root:  # whose paths they are
                continue
            if workload.python and not os.access(project / workload.python, os.X_OK):
                raise ConfigError(
                    f"{file}: workload.python: {workload.python!r} given, expected an interpreter "
                    f"that can be executed from {project}"
                )
            if not (project / workload.workdir).is_dir():
                raise ConfigError(
                    f"{file}: workload.workdir: {workload.workdir!r} given, expected a folder "
                    f"that is there, seen from {project}"
                )

    def _check_target(self, target: str) -> None:
        """Raise ConfigError unless all workloads of `target` use one environment."""
        environments = {
            (workload.target, workload.python): workload.name for workload in self.workloads(target)
        }
        if len(environments) > 1:
            named = ", ".join(
                f"{name} in {where.location or python}"
                for (where, python), name in environments.items()
            )
            raise ConfigError(
                f"{self._file('experiment', self.root.experiment.name)}: "
                f"experiment.targets.{target}: its workloads run in different environments "
                f"({named}); expected workloads with the same `python` and `target`"
            )

    def _check_fleet(self, fleet: str) -> None:
        """Raise ConfigError unless all targets of `fleet` are images that are written."""
        key = f"experiment.fleets.{fleet}"
        for target in self.root.experiment.fleets[fleet]:
            if self.workloads(target)[0].target.kind != "image":
                raise ConfigError(
                    f"{self._file('experiment', self.root.experiment.name)}: {key}: {target!r}"
                    " given, expected targets whose workloads have `target: {kind: image}`"
                )
        if self.root.debloat.fallback == Fallback.ORIGINAL:
            raise ConfigError(
                f"{self._file('experiment', self.root.experiment.name)}: {key}: given with"
                " debloat.fallback: original, expected packed, store or none: images are written"
                " that do without the originals"
            )

    def _check_schedule(self) -> None:
        """Raise ConfigError where a file that the schedule names is wrong or does not fit."""
        experiment = self.root.experiment
        worth = experiment.worth
        for name in [*experiment.schedule.clusters, *worth.clusters]:
            for node_type in self.option("cluster", name).nodes:
                self.option("hardware", node_type)
        for name in experiment.schedule.policies:
            self.option("policy", name)
        if worth.objective:
            self.option("objective", worth.objective)
        for name in [*experiment.schedule.traces, *worth.traces]:
            for job_class, facts in self.option("trace", name).classes.items():
                if facts.workload and facts.workload not in experiment.workloads:
                    raise ConfigError(
                        f"{self._file('trace', name)}: trace.classes.{job_class}.workload: "
                        f"{facts.workload!r} given, expected a workload of a target of the "
                        f"experiment {experiment.name}, or none"
                    )
        for cluster in experiment.schedule.clusters:
            for trace in experiment.schedule.traces:
                self._check_room(cluster, trace)
                self._check_protection(cluster, trace)
        for cluster in worth.clusters:
            for trace in worth.traces:
                self._check_room(cluster, trace)
        for name in experiment.schedule.objectives:
            for trace in experiment.schedule.traces:
                missing = set(self.option("trace", trace).classes) - set(
                    self.option("objective", name).classes
                )
                if missing:
                    raise ConfigError(
                        f"{self._file('objective', name)}: objective.classes: expected the classes "
                        f"of the trace {trace}, {', '.join(sorted(missing))} missing"
                    )

    def _check_tune(self) -> None:
        """Raise ConfigError where a file that is to be tuned, or tunes, is wrong."""
        tune = self.root.experiment.tune
        for group, names in (("tuner", tune.tuners), ("objective", tune.objectives)):
            if tune.tuners:
                self.options(group, names)
        for name in tune.tuners:
            before = self.option("tuner", name).after
            if before is not None and self.option("tuner", before).after is not None:
                raise ConfigError(
                    f"{self._file('tuner', name)}: tuner.after: {before!r} given, expected a tuner"
                    " that itself comes after none"
                )
        for name in tune.workloads:
            tuning = self.option("workload", name).tuning
            if tuning is None:
                raise ConfigError(
                    f"{self._file('workload', name)}: workload.tuning: missing, expected the"
                    f" parameters to tune, as the experiment {self.root.experiment.name} does"
                )
            self.inference_workload(name)
            if self.inference_hardware(name) is not None and tune.inference_alone:
                raise ConfigError(
                    f"{self._file('experiment', self.root.experiment.name)}:"
                    " experiment.tune.inference_alone: true given, expected false, as the model of"
                    f" {name} is used on a device that is not here"
                )

    def _check_characterizations(self) -> None:
        """Raise ConfigError where a characterization, or a workload that it names, is wrong."""
        for name in self.root.experiment.characterizations:
            self.options("learning", self.option("characterization", name).workloads)

    def _check_protected(self) -> None:
        """Raise ConfigError where a task program, or an enclave whose costs are used, is wrong."""
        protect = self.root.experiment.protect
        if protect.programs:
            self.options("task_program", protect.programs)
            self.options("enclave", protect.costs)

    def inference_workload(self, name: str) -> Workload | None:
        """Return the workload that uses the model that the workload `name` trains, if it says so.

        Raises ConfigError where that one does not use a model.
        """
        tuning = self.option("workload", name).tuning
        if tuning is None or tuning.inference_workload is None:
            return None
        workload: Workload = self.option("workload", tuning.inference_workload)
        if workload.phase != Phase.INFERENCE:
            raise ConfigError(
                f"{self._file('workload', name)}: workload.tuning.inference_workload:"
                f" {workload.name!r} given, expected a workload of the phase `inference`"
            )
        return workload

    def inference_hardware(self, name: str) -> Hardware | None:
        """Return the device that the model of the workload `name` is used on, if it says so.

        Raises ConfigError where that one has no `rooflines`, by which it is emulated.
        """
        tuning = self.option("workload", name).tuning
        if tuning is None or tuning.inference_hardware is None:
            return None
        device: Hardware = self.option("hardware", tuning.inference_hardware)
        if not device.rooflines:
            raise ConfigError(
                f"{self._file('hardware', device.name)}: hardware.rooflines: missing, expected"
                f" some, as the model of {name} is used on it; `trimtab advanced probe` measures"
                " them"
            )
        return device

    def _check_room(self, cluster: str, trace: str) -> None:
        """Raise ConfigError for a job that no node is large enough for, as the files say it."""
        nodes, given = self.option("cluster", cluster), self.option("trace", trace)
        if nodes.engine_slots or given.arrivals.kind == ArrivalKind.FILE:
            return  # jobs have the engine to themselves; a recorded trace says what its jobs ask
        machines = self.options("hardware", nodes.nodes)
        for job_class, facts in given.classes.items():
            if not any(has_room(machine, facts) for machine in machines):
                memory_gib = 0.0 if facts.workload else facts.memory_gib
                asked = f"{facts.cores:g} cores, {facts.gpus:g} GPUs and {memory_gib:g} GiB"
                raise ConfigError(
                    f"{self._file('trace', trace)}: trace.classes.{job_class}: {asked} given,"
                    f" expected what a node of the cluster {cluster} has"
                )

    def _check_protection(self, cluster: str, trace: str) -> None:
        """Raise ConfigError for a secure job that no node of the cluster can protect."""
        nodes = self.option("cluster", cluster)
        machines = self.options("hardware", nodes.nodes)
        enclaves = {enclave.name: enclave for enclave in self.enclaves(cluster, trace)}
        given = self.option("trace", trace)
        any_size = nodes.engine_slots or given.arrivals.kind == ArrivalKind.FILE
        for name, facts in self.trace(trace).classes.items():
            if facts.secure is None:
                continue
            large = [one for one in machines if any_size or has_room(one, facts)]
            if reasons := unprotected(facts, nodes, large, enclaves):
                where = f"{self._file('trace', trace)}: trace.classes.{name}.secure"
                if given.classes[name].secure is None:
                    where = f"{self._file('workload', facts.workload)}: workload.secure"
                raise ConfigError(
                    f"{where}: given, but no node of the cluster {cluster} that is large enough "
                    f"protects the class {name} of {trace} ({'; '.join(reasons)}); expected a node "
                    f"type with a fitting `enclave: NAME` in {self.conf / 'hardware'}"
                )

    def _root(self) -> CommonConfig:
        with self._explained():
            given = self._layers.whole()
            chosen = self._layers.choices
            for group in GROUPS:
                if not chosen.get(group):
                    expected = f"expected `- {group}: NAME` in the list"
                    raise ConfigError(f"{self._layers.file('config')}: defaults: {expected}")
            root: CommonConfig = checked(given, RootConfig)
            if old := old_keys(given["debloat"]):
                self.notes.append(self._old_keys_in_words(list(old), root.debloat.remove))
        for group in GROUPS:
            self._options[group, chosen[group]] = getattr(root, group)
            self._check_stem(group, chosen[group], getattr(root, group))
        return root

    def _old_keys_in_words(self, keys: list[str], remove: str) -> str:
        from trimtab.config.mistakes import place_of

        place = place_of(f"debloat.{keys[0]}", self._layers)
        named = " and ".join(f"`{key}`" for key in keys)
        return f"{place}: debloat: in place of the old {named} write `remove: {remove}`"

    def _explained(self) -> AbstractContextManager[None]:
        from trimtab.config.mistakes import explained

        return explained(self._layers)

    def _check_stem(self, group: str, stem: str, option: Any) -> None:
        if option.name != stem:
            raise ConfigError(
                f"{self._file(group, stem)}: {group}.name: {option.name!r} given, "
                f"expected the file's own stem, {stem!r}"
            )

    def _file(self, group: str, name: str) -> Path:
        return self._layers.file(f"{group}/{name}")
