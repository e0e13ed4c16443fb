"""Compose the Hydra tree of `conf/` into checked dataclasses."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from trimtab.config.check import checked
from trimtab.config.fields import InvalidValueError
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.objective import Objective
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import TraceConfig
from trimtab.config.groups.workload import Workload
from trimtab.config.mistakes import ConfigError, explain
from trimtab.config.root import GROUPS, Root

ConfigStore.instance().store(name="base_schema", node=Root)
# ${target:NAME} is the target NAME for the workload NAME alone: YAML keys take no interpolation.
OmegaConf.register_new_resolver("target", lambda name: {name: [name]}, replace=True)


class Configurations:
    """Every configuration that an experiment needs, composed once for each option of a group.

    `conf` is the folder with `config.yaml` and the groups; `overrides` are Hydra's, for example
    `experiment=full` or `profiling.repeats=5`. Raises ConfigError on the first mistake in any
    file that the experiment uses.
    """

    def __init__(self, conf: Path, overrides: Sequence[str] = ()) -> None:
        self.conf = conf
        self.overrides = tuple(overrides)
        self._options: dict[str, Root] = {}
        self.root = self._compose()
        for hardware in self.root.experiment.hardware:
            self.hardware(hardware)
        for target in self.root.experiment.targets:
            self.python(target)
        self._check_schedule()

    def workload(self, name: str) -> Workload:
        """Return what `conf/workload/{name}.yaml` says, after the overrides."""
        return self._option("workload", name).workload

    def hardware(self, name: str) -> Hardware:
        """Return what `conf/hardware/{name}.yaml` says, after the overrides."""
        return self._option("hardware", name).hardware

    def cluster(self, name: str) -> ClusterConfig:
        """Return what `conf/cluster/{name}.yaml` says, after the overrides."""
        return self._option("cluster", name).cluster

    def trace(self, name: str) -> TraceConfig:
        """Return what `conf/trace/{name}.yaml` says, after the overrides."""
        return self._option("trace", name).trace

    def policy(self, name: str) -> PolicyConfig:
        """Return what `conf/policy/{name}.yaml` says, after the overrides."""
        return self._option("policy", name).policy

    def objective(self, name: str) -> Objective:
        """Return what `conf/objective/{name}.yaml` says, after the overrides."""
        return self._option("objective", name).objective

    def workloads(self, target: str) -> list[Workload]:
        """Return the workloads whose union `target` keeps."""
        return [self.workload(name) for name in self.root.experiment.targets[target]]

    def python(self, target: str) -> str:
        """Return the interpreter of the one environment that all workloads of `target` use."""
        pythons = {workload.python: workload.name for workload in self.workloads(target)}
        if len(pythons) > 1:
            named = ", ".join(f"{name} in {python}" for python, name in pythons.items())
            raise ConfigError(
                f"{self._file('experiment', self.root.experiment.name)}: "
                f"experiment.targets.{target}: its workloads run in different environments "
                f"({named}); expected workloads with the same `python`"
            )
        return next(iter(pythons))

    def check_paths(self, project: Path) -> None:
        """Raise ConfigError unless every workload's `python` and `workdir` are there.

        Relative paths start at the folder `project`.
        """
        for name in self.root.experiment.workloads:
            workload, file = self.workload(name), self._file("workload", name)
            if not os.access(project / workload.python, os.X_OK):
                raise ConfigError(
                    f"{file}: workload.python: {workload.python!r} given, expected an interpreter "
                    f"that can be executed from {project}"
                )
            if not (project / workload.workdir).is_dir():
                raise ConfigError(
                    f"{file}: workload.workdir: {workload.workdir!r} given, expected a folder "
                    f"that is there, seen from {project}"
                )

    def _check_schedule(self) -> None:
        """Raise ConfigError where a file that the schedule names is wrong or does not fit."""
        experiment = self.root.experiment
        for name in experiment.schedule.clusters:
            for node_type in self.cluster(name).nodes:
                self.hardware(node_type)
        for name in experiment.schedule.policies:
            self.policy(name)
        for name in experiment.schedule.traces:
            for job_class, facts in self.trace(name).classes.items():
                if facts.workload and facts.workload not in experiment.workloads:
                    raise ConfigError(
                        f"{self._file('trace', name)}: trace.classes.{job_class}.workload: "
                        f"{facts.workload!r} given, expected a workload of a target of the "
                        f"experiment {experiment.name}, or none"
                    )
        for name in experiment.schedule.objectives:
            for trace in experiment.schedule.traces:
                missing = set(self.trace(trace).classes) - set(self.objective(name).classes)
                if missing:
                    raise ConfigError(
                        f"{self._file('objective', name)}: objective.classes: expected the classes "
                        f"of the trace {trace}, {', '.join(sorted(missing))} missing"
                    )

    def _option(self, group: str, name: str) -> Root:
        if getattr(self.root, group).name == name:
            return self.root
        choice = f"{group}={name}"
        if choice not in self._options:
            self._options[choice] = self._compose(choice)
        return self._options[choice]

    def _file(self, group: str, name: str) -> Path:
        return self.conf / group / f"{name}.yaml"

    def _compose(self, *choices: str) -> Root:
        overrides = [*self.overrides, *choices]
        chosen: dict[str, str] = {}
        GlobalHydra.instance().clear()
        try:
            with initialize_config_dir(config_dir=str(self.conf.resolve()), version_base="1.3"):
                tree = compose("config", overrides=overrides, return_hydra_config=True)
            chosen.update(tree.hydra.runtime.choices)
            self._check_defaults(tree, chosen)
            with open_dict(tree):
                del tree["hydra"]
            root = checked(tree, Root)
        except (
            HydraException,
            OmegaConfBaseException,
            yaml.YAMLError,
            InvalidValueError,
            UnicodeDecodeError,
        ) as error:
            raise ConfigError(explain(error, self.conf, overrides, chosen)) from None
        for group in GROUPS:
            self._check_stem(group, chosen[group], getattr(root, group))
        return root

    def _check_defaults(self, tree: DictConfig, chosen: Mapping[str, str]) -> None:
        missing = [f"{group}: NAME" for group in GROUPS if not chosen.get(group)]
        if OmegaConf.get_type(tree) is not Root:
            missing.insert(0, "base_schema")
        if missing:
            raise ConfigError(
                f"{self.conf / 'config.yaml'}: defaults: expected `- {missing[0]}` in the list"
            )

    def _check_stem(self, group: str, stem: str, option: Any) -> None:
        if option.name != stem:
            raise ConfigError(
                f"{self._file(group, stem)}: {group}.name: {option.name!r} given, "
                f"expected the file's own stem, {stem!r}"
            )
