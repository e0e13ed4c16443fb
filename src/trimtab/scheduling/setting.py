"""The input of a cell: a trace on a cluster, and the measurements of its classes."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from trimtab.clusters.cluster import Cluster, JobClass
from trimtab.clusters.hardware_types import GIB
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.trace import JobClassConfig
from trimtab.config.stages import TraceStage
from trimtab.policies.facts import Asked, PolicyInputs, ProbeRun, probe_nodes
from trimtab.records.trace_facts import TraceFacts
from trimtab.scheduling.from_config import cluster_of, job_classes_of
from trimtab.scheduling.measured import MeasuredClasses, with_rounds
from trimtab.scheduling.protection import protect
from trimtab.scheduling.trace.make_trace import frames_of
from trimtab.secure_tasks.cost import Bound
from trimtab.traces.table import class_statistics


@dataclass(frozen=True)
class Setting:
    """A trace on a cluster: the YAML files, and the measurements of its classes.

    `trace_path` is the drawn or read trace, `facts` describe it. `bound` is the end of the range
    for the cost of protection; with None, nothing is protected.
    """

    stage: TraceStage
    trace_path: Path
    facts: TraceFacts
    bound: Bound | None = Bound.TYPICAL

    def frames(self, replication: int) -> Path | Iterable[pd.DataFrame]:
        """Return the trace; replications after the first draw it with another seed."""
        trace = self.stage.trace
        if replication == 0 or trace.arrivals.kind == "file":
            return self.trace_path
        drawn = replace(self.stage, trace=replace(trace, seed=trace.seed + replication))
        measured = MeasuredClasses(self.facts.measured, self.facts.original, self.facts.rounds)
        return frames_of(drawn, measured, Counter())


def setting_of(stage: TraceStage, trace_path: Path, facts_path: Path) -> Setting:
    """Return the setting of a stage whose trace is at `trace_path`, with the facts beside it."""
    facts = TraceFacts.read(facts_path)
    measured = replace(stage, trace=with_rounds(stage.trace, facts.rounds))
    return Setting(measured, trace_path, facts)


def facts_of(setting: Setting) -> PolicyInputs:
    """Return the inputs of policies: nodes, classes, and their probing runs."""
    stage = setting.stage
    cluster = cluster_of(stage.cluster, stage.hardware)
    classes = stage.trace.classes or {name: JobClassConfig() for name in setting.facts.classes}
    job_classes = job_classes_of(stage.hardware, classes, setting.facts.measured)
    asked = _asked(setting.trace_path, [job_class.name for job_class in job_classes])
    probes = _probes(stage.hardware, cluster, job_classes, asked)
    if setting.bound is not None:
        job_classes = protect(stage, cluster, job_classes, asked, setting.bound)
    return PolicyInputs(cluster, job_classes, asked, probes, stage.trace.seed)


def _probes(
    hardware: Sequence[Hardware],
    cluster: Cluster,
    job_classes: Sequence[JobClass],
    asked: Sequence[Asked],
) -> list[ProbeRun]:
    """Return the real probing runs of the node types, if all have some; else simulated ones.

    They are never mixed: predictions are comparable only if the same tasks probed all types.
    """
    if not all(machine.probes for machine in hardware):
        return probe_nodes(cluster, job_classes, asked)
    return [
        ProbeRun(
            machine.name,
            probe.cores,
            probe.memory_gib,
            probe.level,
            probe.wall_s,
            probe.energy_j,
            task=probe.task,
        )
        for machine in hardware
        for probe in machine.probes
    ]


def _asked(trace: Path, names: Sequence[str]) -> list[Asked]:
    mean, _ = class_statistics(trace)
    return [
        Asked(
            cores=float(mean["cpu_milli"].get(name, 1000.0)) / 1000,
            memory_gib=float(mean["memory_bytes"].get(name, 0.0)) / GIB,
            # Jobs of rounds draw their times at their start; to a policy only ratios matter.
            work_s=float(np.nan_to_num(mean["work_s"].get(name, 1.0), nan=1.0)) or 1.0,
            gpus=float(mean["gpu_milli"].get(name, 0.0)) / 1000,
        )
        for name in names
    ]
