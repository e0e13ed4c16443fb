"""The input of an experiment's evaluation, read and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.inputs.tunings import TunedCell
from trimtab.records.built_environment import BuiltEnvironment, CompressedEnvironment
from trimtab.records.imports.saved_starts import WorkloadStart
from trimtab.records.manifest import Manifest
from trimtab.records.tables import FILES
from trimtab.records.usage import Usage
from trimtab.records.used import UsedCode
from trimtab.records.verdict import Verdict


@dataclass(frozen=True)
class WorkloadFacts:
    """A workload's configuration for the report; "" where unset."""

    data_set: str = ""
    model: str = ""
    framework: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    description: str = ""

    @property
    def loading(self) -> str:
        """The CUDA driver's loading of GPU code: "eager", "lazy", or "" for its default."""
        mode = self.environment.get("CUDA_MODULE_LOADING", "")
        return {"EAGER": "eager", "LAZY": "lazy"}.get(mode, "")


@dataclass(frozen=True)
class EvaluationInputs:
    """The files and the facts that a report is made from.

    `files` are what each stage hands on, by the stage's name. `options` are what the configuration
    says, by group and name. `machine` and `date` say in words where and when the runs were made;
    `title` is the experiment's, if it has one.
    """

    experiment: str
    machine: str
    date: str
    files: Mapping[str, Sequence[Path]]
    title: str = ""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workloads: Mapping[str, WorkloadFacts] = field(default_factory=dict)

    def facts(self, workload: str) -> WorkloadFacts:
        """Return the facts of a workload."""
        return self.workloads.get(workload, WorkloadFacts())


@dataclass(frozen=True)
class DebloatedTarget:
    """One target on one hardware: the reductions of its libraries, and its runs.

    `libraries` has the columns of LIBRARIES, and no rows where no library was loaded. `runs` has
    the columns of RUNS (conditions original and debloated). `used` is the code that its workloads
    used, by library. `label` is the target's name, with the hardware where the experiment has
    several. `built` is its slim environment, if it has one, and `compressed` its compressed size,
    if measured. `files` has the columns of FILES, and no rows where all files stay. `starts` are
    its workloads' saved starts, if any were to be.
    """

    label: str
    manifest: Manifest
    verdict: Verdict
    libraries: pd.DataFrame
    runs: pd.DataFrame
    used: Mapping[str, UsedCode] = field(default_factory=dict)
    built: BuiltEnvironment | None = None
    files: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=FILES.names))
    compressed: CompressedEnvironment | None = None
    starts: Sequence[WorkloadStart] = ()

    @property
    def hardware(self) -> str:
        """Its machine."""
        return self.manifest.hardware

    @property
    def workloads(self) -> list[str]:
        """Its workloads, whose code it keeps."""
        return self.manifest.workloads

    @property
    def gpus(self) -> list[str]:
        """Its GPUs, e.g. "NVIDIA H200 (sm_90)"."""
        return [f"{gpu.name or 'GPU'} (sm_{gpu.architecture})" for gpu in self.manifest.gpus]

    @property
    def is_image(self) -> bool:
        """Whether it is a container image."""
        return self.manifest.environment.kind == "image"

    @property
    def has_gpu_code(self) -> bool:
        """Whether any of its libraries has GPU code."""
        return bool(self.libraries["gpu_bytes_before"].sum() > 0)


@dataclass(frozen=True)
class WorkloadProfile:
    """One workload on one hardware: its usage, its runs (RUNS) and its epochs (EPOCHS)."""

    label: str
    workload: str
    hardware: str
    usage: Usage
    runs: pd.DataFrame
    epochs: pd.DataFrame


@dataclass(frozen=True)
class Measurements:
    """Everything that was measured for an experiment.

    `results` has for each stage that left files what `read` of its module in
    `trimtab.evaluation.inputs.stages` made of them.
    """

    inputs: EvaluationInputs
    results: Mapping[str, Any] = field(default_factory=dict)

    @property
    def targets(self) -> tuple[DebloatedTarget, ...]:
        """The debloated targets."""
        return tuple(self.results.get("debloat", ()))

    @property
    def profiles(self) -> tuple[WorkloadProfile, ...]:
        """The profiled workloads."""
        return tuple(self.results.get("profile", ()))

    @property
    def schedules(self) -> Schedules:
        """The schedules."""
        found: Schedules = self.results.get("schedule", Schedules())
        return found

    @property
    def tunings(self) -> tuple[TunedCell, ...]:
        """The tuned cells."""
        return tuple(self.results.get("tune", ()))

    @property
    def have_gpu_code(self) -> bool:
        """Whether any target has GPU code."""
        return any(target.has_gpu_code for target in self.targets)

    def usages(self, target: DebloatedTarget) -> dict[str, Usage]:
        """Return the usage.json of each of the target's workloads, by workload."""
        return {
            profile.workload: profile.usage
            for profile in self.profiles
            if profile.hardware == target.hardware and profile.workload in target.workloads
        }
