"""One cell of an experiment: a trace on a cluster under a policy, simulated."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from trimtab.clusters.cluster import Cluster, JobClass
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.hardware import Hardware
from trimtab.config.groups.policy import PolicyConfig
from trimtab.config.groups.trace import JobClassConfig, TraceConfig
from trimtab.config.stages import TraceStage
from trimtab.files import write_json
from trimtab.policies.facts import Asked, Facts, ProbeRun
from trimtab.policies.registry import build_policy
from trimtab.policies.simulated_probes import probe_nodes
from trimtab.scheduling.deflator import loss_pct
from trimtab.scheduling.from_config import GIB, cluster_of, job_classes_of
from trimtab.scheduling.make_trace import frames_of, with_stages
from trimtab.scheduling.measured import MeasuredWorkload, workloads_of
from trimtab.simulation.confidence import half_width
from trimtab.simulation.simulate import simulate
from trimtab.traces.statistics import class_statistics

_SAMPLES = 200
_WITH_INTERVAL = ("response_mean_s", "response_p95_s", "waiting_mean_s", "execution_mean_s",
                  "waste_share", "makespan_s", "idle_energy_j", "active_energy_j")  # fmt: skip


@dataclass(frozen=True)
class Setting:
    """A trace on a cluster: the YAML files, and what was measured of the classes.

    `trace_path` is the trace as drawn or read; `document` is the `trace.json` beside it.
    """

    cluster: ClusterConfig
    hardware: Sequence[Hardware]
    trace: TraceConfig
    trace_path: Path
    document: Mapping[str, Any]

    @property
    def measured(self) -> dict[str, MeasuredWorkload]:
        """The classes whose figures the stages before measured."""
        found = {name: facts["measured"] for name, facts in self.document["classes"].items()}
        return workloads_of(found)

    def frames(self, replication: int) -> Path | Iterable[pd.DataFrame]:
        """Return the trace; of every replication but the first, drawn again with another seed."""
        if replication == 0 or self.trace.arrivals.kind == "file":
            return self.trace_path
        return frames_of(
            replace(self.trace, seed=self.trace.seed + replication),
            self.cluster,
            self.hardware,
            self.measured,
            workloads_of(self.document["original"]),
            Counter(),
        )


def setting_of(stage: TraceStage, trace_path: Path, facts_path: Path) -> Setting:
    """Return the setting of a stage whose trace is at `trace_path`, with the JSON beside it."""
    document = json.loads(facts_path.read_text())
    trace = with_stages(stage.trace, document["stages"])
    return Setting(stage.cluster, stage.hardware, trace, trace_path, document)


def schedule(
    setting: Setting,
    policy: PolicyConfig,
    *,
    replications: int,
    is_baseline: bool,
    destination: Path,
) -> None:
    """Simulate a cell and write its tables and `summary.json` to the folder `destination`.

    The tables are those of the first replication, the summary has means over all of them, with
    the half-widths of their 99 % confidence intervals. Raises UserError as simulate does.
    """
    facts = facts_of(setting)
    span_s = max(setting.document["arrivals"]["bin_s"] * len(_first(setting.document)), 1e-9)
    summaries = []
    for replication in range(replications):
        given = replace(facts, seed=facts.seed + replication)
        built = build_policy(policy.kind, policy.parameters, given)
        result = simulate(
            facts.cluster,
            facts.job_classes,
            setting.frames(replication),
            built,
            seed=setting.trace.seed + replication,
            folder=destination if replication == 0 else None,
            keep_jobs=replication == 0,
            keep_stays=replication == 0,
            sample_s=span_s / _SAMPLES if replication == 0 else None,
        )
        summaries.append(result.summary)
    drop_ratio = built.drop_ratio
    write_json(
        destination / "summary.json",
        {
            "cluster": setting.cluster.name,
            "trace": setting.trace.name,
            "policy": policy.name,
            "policy_label": policy.label or policy.name,
            "baseline": is_baseline,
            "simulator": summaries[0]["simulator"],
            "seed": setting.trace.seed,
            "offered_load": summaries[0]["offered_load"],
            "classes": {
                name: {
                    **_mean([one["classes"][name] for one in summaries if name in one["classes"]]),
                    "drop_ratio": drop_ratio.get(name, 0.0),
                    "accuracy_loss_pct": _loss_pct(
                        setting.trace.classes.get(name), drop_ratio.get(name, 0.0)
                    ),
                }
                for name in summaries[0]["classes"]
            },
            "all": {**_mean([one["all"] for one in summaries]), "replications": replications},
            "energy_source": "modelled",
            "service_source": setting.document["service_source"],
        },
    )


def facts_of(setting: Setting) -> Facts:
    """Return what policies are made from: nodes, classes, and what probing them would give."""
    cluster = cluster_of(setting.cluster, setting.hardware)
    classes = setting.trace.classes or {
        name: JobClassConfig() for name in setting.document["classes"]
    }
    job_classes = job_classes_of(setting.hardware, classes, setting.measured)
    asked = _asked(setting.trace_path, [one.name for one in job_classes])
    probes = _probes(setting.hardware, cluster, job_classes, asked)
    return Facts(cluster, job_classes, asked, probes, setting.trace.seed)


def _probes(
    hardware: Sequence[Hardware],
    cluster: Cluster,
    job_classes: Sequence[JobClass],
    asked: Sequence[Asked],
) -> list[ProbeRun]:
    """Return the real probing runs of the node types, if all have some; else simulated ones.

    Never some of each: predictions of node types compare only if the same tasks probed them.
    """
    if not all(machine.probes for machine in hardware):
        return probe_nodes(cluster, job_classes, asked)
    return [
        ProbeRun(
            machine.name, probe.cores, probe.memory_gib, probe.level, probe.wall_s, probe.energy_j
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
            # Jobs of stages draw their times when they start: only ratios matter to a policy.
            work_s=float(np.nan_to_num(mean["work_s"].get(name, 1.0), nan=1.0)) or 1.0,
            gpus=float(mean["gpu_milli"].get(name, 0.0)) / 1000,
        )
        for name in names
    ]


def _first(document: Mapping[str, Any]) -> Sequence[int]:
    counts: Sequence[int] = next(iter(document["arrivals"]["classes"].values()))
    return counts


def _loss_pct(facts: JobClassConfig | None, drop_ratio: float) -> float | None:
    if drop_ratio == 0:
        return 0.0
    if facts is None or not facts.accuracy_loss:
        return None
    return loss_pct([(ratio, loss) for ratio, loss in facts.accuracy_loss], drop_ratio)


def _mean(summaries: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the mean of every figure, and the half-width of the interval of some."""
    found: dict[str, float] = {}
    for key, first in summaries[0].items():
        values = np.array([one.get(key, 0.0) for one in summaries], dtype=float)
        found[key] = first if len(values) == 1 or (values == first).all() else float(values.mean())
        if len(values) > 1 and key in _WITH_INTERVAL:
            found[f"{key}_half_width_99"] = half_width(values, confidence=0.99)
    return found
