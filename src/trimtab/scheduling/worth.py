"""What each stage of the chain is worth to the jobs of a trace, by what earlier stages measured."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa

from trimtab.batch.curves import EnergyCurve, read_curve
from trimtab.batch.model import speeds_of
from trimtab.batch.operation import Operation
from trimtab.batch.policies.registry import build_batch_policy
from trimtab.batch.readers.read import ReadJobs
from trimtab.batch.sleep import Sleep
from trimtab.clusters.cluster import Cluster
from trimtab.config.groups.jobs.worth import PricesConfig
from trimtab.config.groups.trace import JobClassConfig, JobEnvironment
from trimtab.config.stages import WorthStage
from trimtab.errors import UserError
from trimtab.records.batch.tables import BATCH_JOBS
from trimtab.records.batch.worth import Worth
from trimtab.records.built_environment import CompressedEnvironment
from trimtab.records.imports.saved_starts import SavedStarts, WorkloadStart
from trimtab.records.manifest import Manifest
from trimtab.records.trace_facts import MeasuredPair, MeasuredWorkload, TraceFacts
from trimtab.scheduling.from_config import cluster_of
from trimtab.scheduling.measured import MeasuredClasses
from trimtab.scheduling.tuning import Tuning, tuning_of
from trimtab.traces.table import read_trace
from trimtab.worth.fleet_images import COLD, SLIM_COLD, Assumed, FleetImage, Side
from trimtab.worth.measured import MeasuredSide, read_measured
from trimtab.worth.replay import Prices
from trimtab.worth.stages import Plan
from trimtab.worth.weigh import weigh


@dataclass(frozen=True)
class ChainInputs:
    """What earlier stages left: the trace (TRACE), and what was measured of its classes.

    `environments` are the folders of slim environments by workload, for sizes and times; `searches`
    are the trials (TRIALS) of each tuner by workload, the one to compare with first; `starts` are
    the saved ones of programs in slim environments, by workload.
    """

    trace: Path
    measured: MeasuredClasses
    environments: Mapping[str, Path]
    searches: Mapping[str, Sequence[Path]]
    starts: Mapping[str, WorkloadStart] = field(default_factory=dict)

    @classmethod
    def of(
        cls, trace: Path, facts: Path, environments: Sequence[Path], trials: Sequence[Path]
    ) -> Self:
        """Return the inputs in files; `trials` are in folders TUNER/WORKLOAD/HARDWARE/OBJECTIVE."""
        folders = [path.parent for path in environments if path.name == "manifest.json"]
        searches: dict[str, list[Path]] = {}
        for path in trials:
            searches.setdefault(path.parts[-4], []).append(path)
        document = TraceFacts.read(facts)
        return cls(
            trace,
            MeasuredClasses(document.measured, document.original, document.rounds),
            {
                workload: folder
                for folder in folders
                for workload in Manifest.read(folder / "manifest.json").workloads
            },
            searches,
            {
                start.workload: start
                for path in environments
                if path.name == "start.json"
                for start in SavedStarts.read(path).workloads
            },
        )


def weigh_chain(stage: WorthStage, inputs: ChainInputs, destination: Path) -> Worth:
    """Replay the jobs of a trace with each stage on and off; write the results to `destination`.

    Raises UserError as weigh does, and for jobs whose run times are not known before they start.
    """
    cluster = cluster_of(stage.cluster, stage.hardware)
    cells, measured = stage.worth, inputs.measured
    registry = math.inf if cells.registry_mbit_per_s is None else cells.registry_mbit_per_s
    assumed = Assumed(cells.pull_mbit_per_s, cells.unpack_mb_per_s, registry_mbit_per_s=registry)
    tuned = {
        name: tuning_of(inputs.searches.get(workload, ())) for name, workload in cells.tuned.items()
    }
    images = {
        name: _image(
            facts,
            measured.original[name],
            measured.workloads[name],
            inputs.environments.get(facts.workload),
            tuned[name].share if name in tuned else None,
            assumed,
        ).with_start(start := start_of(facts, inputs), _usual_s(start, measured.workloads[name]))
        for name, facts in stage.trace.classes.items()
        if name in measured.workloads
    }
    now, then = (build_batch_policy(name)[1] for name in (cells.now, cells.queue_policies[0]))
    plan = Plan(images, (now, then), None, Operation(autoscale=_switched(stage, cluster)), assumed)
    jobs, remarks = jobs_of(inputs.trace, cluster), _about(inputs, tuned)
    read = ReadJobs(jobs, "trace", Counter(), remarks, None, None)
    return weigh(inputs.trace, read, cluster, plan, _prices(stage.prices), destination)


def _switched(stage: WorthStage, cluster: Cluster) -> dict[str, Sleep] | None:
    after_s = stage.worth.off_after_s
    if after_s is None:
        return None
    off = Sleep(after_s, stage.worth.boot_s, 0.0, off=True)
    return {each.name: off for each in cluster.node_types}


def jobs_of(trace: Path, cluster: Cluster) -> pd.DataFrame:
    """Return the jobs of a trace (TRACE) as jobs of a batch queue (BATCH_JOBS).

    A job's image is its class. Run times are those on the first type of node that jobs with GPUs,
    or without, run on. Raises UserError for a job of rounds.
    """
    frame = pd.concat(read_trace(trace), ignore_index=True)
    if frame["work_s"].isna().any():
        raise UserError(f"{trace}: jobs of rounds; expected classes that name a workload")
    speeds = [
        next((speed for speed in speeds_of(cluster, on_gpus) if np.isfinite(speed)), np.nan)
        for on_gpus in (False, True)
    ]
    speed = np.where(frame["gpu_milli"] > 0, speeds[1], speeds[0])
    values: dict[str, Any] = {
        "job": frame["job"],
        "name": frame["job"].astype(str),
        "submit_s": frame["arrival_s"] - frame["arrival_s"].iloc[0],
        "run_s": frame["work_s"] / speed,
        "parts": 1,
        "cpu_milli": frame["cpu_milli"],
        "gpu_milli": frame["gpu_milli"],
        "memory_bytes": frame["memory_bytes"],
        "distinct": False,
        "priority": frame["priority"],
        "image": frame["job_class"].astype(str),
        "least_parts": 1,
        "most_parts": 1,
        "serial_share": 0.0,
        "counted": True,
    }
    unknown = {field.name: "" if field.type == pa.string() else np.nan for field in BATCH_JOBS}
    return pd.DataFrame({**unknown, **values}, frame.index)


def _image(
    facts: JobClassConfig,
    original: MeasuredWorkload,
    slim: MeasuredWorkload,
    environment: Path | None,
    tuned_share: float | None,
    assumed: Assumed,
) -> FleetImage:
    """Return a class's image: by `image_start` if it has one, else by its environment's size."""
    slimming_s = None
    sizes = [original.image_bytes, slim.image_bytes]
    if environment is not None:
        timings = Manifest.read(environment / "manifest.json").timings
        slimming_s = timings.trace_s + timings.locate_s + timings.rewrite_s
        compressed = CompressedEnvironment.read(environment / "compressed.json")
        sizes = [compressed.before_bytes, compressed.after_bytes]
    if facts.image_start:
        found = read_measured(Path(facts.image_start), facts.image_start)
        sides = [_measured_side(each) for each in (found.before, found.after)]
        return FleetImage(sides[0], sides[1], (), tuned_share, slimming_s)
    sides = [
        Side(size, assumed.fetch_s(size), each.cold_start_s)
        for size, each in zip(sizes, (original, slim), strict=True)
    ]
    return FleetImage(sides[0], sides[1], (COLD, SLIM_COLD), tuned_share, slimming_s)


def start_of(facts: JobClassConfig, inputs: ChainInputs) -> WorkloadStart | None:
    """Return the saved start of a class's slim environment, which its image does not have."""
    if facts.environment != JobEnvironment.DEBLOATED or facts.image_start:
        return None
    if facts.measured:
        return MeasuredPair.read(Path(facts.measured)).start
    return inputs.starts.get(facts.workload)


def _usual_s(start: WorkloadStart | None, slim: MeasuredWorkload) -> float:
    """Return how long the runs that were verified took for what a saved start's pairs measured."""
    is_to_mark = slim.cold_start_s > 0 and not (start and start.whole_run)
    return slim.cold_start_s + (0.0 if is_to_mark else float(np.mean(slim.work_s)))


def _measured_side(side: MeasuredSide) -> Side:
    warm_s = side.warm_s or 0.0
    return Side(side.size_bytes, (side.cold_s or 0.0) - warm_s, warm_s)


def _prices(given: PricesConfig) -> Prices:
    def curve(text: str) -> EnergyCurve | None:
        return read_curve(text, None) if text else None

    return Prices(
        curve(given.energy_eur_per_kwh),
        curve(given.carbon_g_per_kwh),
        given.node_eur_per_h or None,
        given.egress_eur_per_gb,
        given.storage_eur_per_gb_month,
    )


def _about(inputs: ChainInputs, tuned: Mapping[str, Tuning]) -> list[str]:
    machines = sorted({each.hardware for each in inputs.measured.workloads.values()})
    remarks = [f"run times are measured, on {', '.join(machines)}: each job takes one of them"]
    return [*remarks, *(f"{name}: {tuning.remark}" for name, tuning in tuned.items())]
