"""What an experiment is evaluated from, as it was read and checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from trimtab.config.groups.hardware import Probe
from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.inputs.tunings import TunedCell
from trimtab.records.built_environment import BuiltEnvironment, CompressedEnvironment
from trimtab.records.images.fleet import Fleet
from trimtab.records.manifest import Manifest
from trimtab.records.tables import CHARACTERIZATION_RUNS, FILES, PROTECTED_RUNS
from trimtab.records.usage import Usage
from trimtab.records.used import UsedCode
from trimtab.records.verdict import Verdict


@dataclass(frozen=True)
class WorkloadFacts:
    """What the configuration says of a workload; "" where it does not say."""

    data_set: str = ""
    model: str = ""
    framework: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    description: str = ""

    @property
    def loading(self) -> str:
        """How the CUDA driver is told to load GPU code: "eager", "lazy", or "" for its default."""
        mode = self.environment.get("CUDA_MODULE_LOADING", "")
        return {"EAGER": "eager", "LAZY": "lazy"}.get(mode, "")


@dataclass(frozen=True)
class TaskProgramFacts:
    """What the configuration says of a task program for the report.

    `published` is its name among the run times of SGX-OmpSs' authors, or empty; `macro` whether it
    is a whole application; `size` and `block` are its own, beside which others are tried.
    """

    label: str
    published: str = ""
    macro: bool = False
    size: int = 0
    block: int = 0


@dataclass(frozen=True)
class EvaluationInputs:
    """The folders and the facts that a report is made from.

    `profiles` are folders of the stage `profile`, one for each workload and hardware, `debloats` of
    `debloat`, one for each target and hardware, and `schedules` of `schedule`, one for each
    cluster, trace and policy; `deflators` and `traces` are the files beside them, `probes` what
    `trimtab advanced probe` found. `tunings` are folders of `tune`, whose last names are tuner,
    workload, hardware and objective; `tuners` are the tuners' labels, and `after` names for some of
    them the tuner whose ground truth they began with. `growths` are lines.parquet of `growth`,
    `fleets` fleet.json, in folders FLEET/HARDWARE, `characterizations` runs.parquet of
    `characterize` and `protected` those of `protect`. `machine` and `date` say in words where and
    when the runs were made; `title` is the experiment's, if it has one.
    """

    experiment: str
    machine: str
    date: str
    title: str = ""
    profiles: tuple[Path, ...] = ()
    debloats: tuple[Path, ...] = ()
    schedules: tuple[Path, ...] = ()
    tunings: tuple[Path, ...] = ()
    growths: tuple[Path, ...] = ()
    fleets: tuple[Path, ...] = ()
    characterizations: tuple[Path, ...] = ()
    protected: tuple[Path, ...] = ()
    task_programs: Mapping[str, TaskProgramFacts] = field(default_factory=dict)
    tuners: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    deflators: tuple[Path, ...] = ()
    traces: tuple[Path, ...] = ()
    probes: Mapping[str, Sequence[Probe]] = field(default_factory=dict)
    workloads: Mapping[str, WorkloadFacts] = field(default_factory=dict)

    def facts(self, workload: str) -> WorkloadFacts:
        """Return what is known of a workload."""
        return self.workloads.get(workload, WorkloadFacts())


@dataclass(frozen=True)
class DebloatedTarget:
    """One target on one hardware: what was removed from its libraries, and the runs after it.

    `libraries` has the columns of LIBRARIES, and no rows where no library was loaded; `runs` those
    of RUNS (conditions original and debloated). `used` is the code that its workloads used, by
    library. `label` is the target's name, with the hardware where the experiment has several.
    `built` is its slim environment, if it has one, and `compressed` what that weighs so, if it was
    weighed. `files` has the columns of FILES, and no rows where all files stay.
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

    @property
    def hardware(self) -> str:
        """The machine that it was made for."""
        return self.manifest.hardware

    @property
    def workloads(self) -> list[str]:
        """The workloads that it keeps the code of."""
        return self.manifest.workloads

    @property
    def gpus(self) -> list[str]:
        """The GPUs that it was made for, e.g. "NVIDIA H200 (sm_90)"."""
        return [f"{gpu.name or 'GPU'} (sm_{gpu.architecture})" for gpu in self.manifest.gpus]

    @property
    def is_image(self) -> bool:
        """Whether it is a container image."""
        return self.manifest.environment.kind == "image"

    @property
    def has_gpu_code(self) -> bool:
        """Whether any of its libraries holds GPU code."""
        return bool(self.libraries["gpu_bytes_before"].sum() > 0)


@dataclass(frozen=True)
class WorkloadProfile:
    """One workload on one hardware: what it used, its runs (RUNS) and its epochs (EPOCHS)."""

    label: str
    workload: str
    hardware: str
    usage: Usage
    runs: pd.DataFrame
    epochs: pd.DataFrame


@dataclass(frozen=True)
class Measurements:
    """Everything that was measured for an experiment."""

    inputs: EvaluationInputs
    targets: tuple[DebloatedTarget, ...]
    profiles: tuple[WorkloadProfile, ...]
    schedules: Schedules = field(default_factory=Schedules)
    tunings: tuple[TunedCell, ...] = ()
    growths: tuple[pd.DataFrame, ...] = ()  # with the columns of LINES_BY_YEAR, by code base
    fleets: Mapping[str, Fleet] = field(default_factory=dict)
    # With the columns of CHARACTERIZATION_RUNS: all runs of all workloads.
    characterized: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=CHARACTERIZATION_RUNS.names)
    )
    # With the columns of PROTECTED_RUNS: all runs and simulations of all task programs.
    protected: pd.DataFrame = field(
        default_factory=lambda: pd.DataFrame(columns=PROTECTED_RUNS.names)
    )

    @property
    def have_gpu_code(self) -> bool:
        """Whether any target holds GPU code."""
        return any(target.has_gpu_code for target in self.targets)

    def usages(self, target: DebloatedTarget) -> dict[str, Usage]:
        """Return the usage.json of each of the target's workloads, by workload."""
        return {
            profile.workload: profile.usage
            for profile in self.profiles
            if profile.hardware == target.hardware and profile.workload in target.workloads
        }
