"""A queue under several policies: their schedules as files, their figures as a document."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import ValidationError

from trimtab.batch.curves import EnergyCurve
from trimtab.batch.demands import largest_demand, suggested_nodes
from trimtab.batch.figures import offered_load, recorded_waits, waits_of
from trimtab.batch.interruptions.checkpoints import Checkpoint, with_checkpoints
from trimtab.batch.interruptions.preemption import Preemption
from trimtab.batch.interruptions.spot import Reclaims, Spot
from trimtab.batch.model import kinds_of
from trimtab.batch.operation import (
    AS_THEY_ARE,
    Operation,
    about_operation,
    check_images,
    deadlines_of,
    node_use,
    startups_of,
)
from trimtab.batch.policies.base import BatchPolicy
from trimtab.batch.power_cap import with_room_and_power
from trimtab.batch.readers.read import ReadJobs
from trimtab.batch.simulate import BatchResult, simulate_batch
from trimtab.batch.sleep import Sleep, sleeps_of
from trimtab.batch.throughputs import Throughputs
from trimtab.batch.window import WARM_UP, in_window
from trimtab.clusters.cluster import Cluster, NodeType
from trimtab.errors import UserError
from trimtab.records.batch.comparison import NodeGroup, PolicyOutcome, QueueComparison
from trimtab.records.batch.tables import BATCH_JOBS, BATCH_RUNS, BATCH_SCHEDULE
from trimtab.records.document import first_mistake
from trimtab.records.parquet.files import write_table


def compare_policies(
    file: Path,
    read: ReadJobs,
    cluster: Cluster,
    policies: Mapping[str, BatchPolicy],
    folder: Path,
    *,
    price: EnergyCurve | None = None,
    carbon: EnergyCurve | None = None,
    sleep: Sleep | None = None,
    operation: Operation = AS_THEY_ARE,
    warm_up: float = WARM_UP,
    checkpoint: Checkpoint | None = None,
    spots: Sequence[Spot] = (),
    seed: int = 1,
    preemption: Preemption | None = None,
    throughputs: Throughputs | None = None,
) -> QueueComparison:
    """Simulate the jobs of `file` under each policy; write all results into `folder`.

    These are `comparison.json`, which is returned, `jobs.parquet` (BATCH_JOBS) of the jobs that fit
    the nodes, as `in_window` returns them, and for each policy a table BATCH_SCHEDULE, and
    BATCH_RUNS where jobs were interrupted. `checkpoint` is of jobs that name none of their own.
    Nodes of `spots` are reclaimed at times drawn with `seed`. Raises UserError if no job fits the
    nodes.
    """
    if checkpoint is not None:
        read = replace(read, jobs=with_checkpoints(read.jobs, checkpoint))
    without_power = [each.name for each in cluster.node_types if not has_power(each)]
    if (price or carbon) and len(without_power) == len(cluster.node_types):
        raise UserError(
            f"--price and --carbon: no power is known of {', '.join(without_power)}; expected"
            " --nodes with names of conf/hardware/, such as epyc_9654:4"
        )
    if operation.power_cap_w is not None and without_power:
        raise UserError(
            f"--power-cap-kw: no power is known of {', '.join(without_power)}; expected --nodes"
            " with names of conf/hardware/, such as epyc_9654:4"
        )
    sleeps = sleeps_of(cluster, sleep, operation.autoscale or {})
    fits, over_cap = with_room_and_power(
        read.jobs, kinds_of(read.jobs, cluster, throughputs), cluster, sleeps, operation.power_cap_w
    )
    if not fits.any():
        raise UserError(
            f"{file}: no job fits the nodes; {largest_demand(read.jobs)}; expected --nodes that"
            f" have this, such as --nodes {suggested_nodes(read.jobs)}"
        )
    jobs, about_window = in_window(read.jobs[fits].reset_index(drop=True), warm_up)
    counted = jobs["counted"].to_numpy()
    check_images(file, read.jobs, operation.images)
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "jobs.parquet", BATCH_JOBS, jobs)
    results = {
        name: simulate_batch(
            jobs,
            cluster,
            each,
            sleep=sleep,
            autoscale=operation.autoscale,
            power_cap_w=operation.power_cap_w,
            images=operation.images,
            reclaims=Reclaims(spots, cluster, seed) if spots else None,
            preemption=preemption,
            throughputs=throughputs,
        )
        for name, each in policies.items()
    }
    try:
        document = QueueComparison(
            file=str(file),
            format=read.format,
            jobs=len(jobs),
            counted=int(counted.sum()),
            left_out=int((~fits).sum()),
            skipped={reason: rows for reason, rows in read.skipped.items() if rows},
            nodes=[
                NodeGroup(each.name, count, each.cpu_milli, each.gpu_milli)
                for each, count in zip(cluster.node_types, cluster.counts, strict=True)
            ],
            load=offered_load(jobs, cluster),
            recorded=recorded_waits(jobs[counted]),
            policies=[
                _outcome(name, each, jobs, cluster, price, carbon, operation)
                for name, each in results.items()
            ],
            remarks=[
                *about_window,
                *read.remarks,
                *_about_nodes(cluster, without_power),
                *(curve.remark for curve in (price, carbon) if curve and curve.remark),
                *_about_jobs(jobs, cluster, next(iter(results.values()))),
                *_about_sleep(sleep),
                *about_operation(jobs, operation),
                *_about_spot(spots, seed),
            ],
            over_cap=int(over_cap.sum()),
        )
    except ValidationError as error:
        raise UserError(
            f"{file}: a figure is beyond any machine ({first_mistake(error)}); expected run times"
            " and demands of real jobs"
        ) from None
    for outcome in document.policies:
        write_table(folder / outcome.schedule, BATCH_SCHEDULE, results[outcome.policy].schedule)
        if outcome.runs is not None:
            write_table(folder / outcome.runs, BATCH_RUNS, results[outcome.policy].runs)
    document.write(folder / "comparison.json")
    return document


def _about_nodes(cluster: Cluster, without_power: list[str]) -> Iterator[str]:
    if len({each.levels[-1].speed for each in cluster.node_types}) > 1:
        first = cluster.node_types[0].name
        yield f"recorded run times are those on the GPUs that a job had, else on {first}"
    if len(without_power) < len(cluster.node_types):
        yield "energy is modelled, by the idle and the busy power in conf/hardware"
    if curved := [each.name for each in cluster.node_types if each.load_curve]:
        yield (
            f"the load_curve of {', '.join(curved)} counts in energy; power caps, and policies that"
            " compare energies, take power to grow linearly with the load"
        )
    if 0 < len(without_power) < len(cluster.node_types):
        yield f"no power is known of {', '.join(without_power)}: it counts as none"


def _about_sleep(sleep: Sleep | None) -> Iterator[str]:
    if sleep is not None:
        yield (
            f"idle nodes sleep after {sleep.after_s:g} s; assumed are {sleep.wake_s:g} s to wake up"
            f" and {sleep.power_share:.0%} of the idle power"
        )


def _about_spot(spots: Sequence[Spot], seed: int) -> Iterator[str]:
    for spot in spots:
        yield (
            f"{spot.node_type}: each node is reclaimed {spot.per_node_hour:g} times an hour on"
            f" average, with {spot.notice_s:g} s of notice, for {spot.back_after_s:g} s"
            f" (exponential, seed {seed})"
        )


def _about_jobs(jobs: pd.DataFrame, cluster: Cluster, result: BatchResult) -> Iterator[str]:
    if result.raised_estimates:
        yield f"{result.raised_estimates:,} run times above their estimates: these were raised"
    if jobs["recorded_start_s"].notna().any():
        yield f"as recorded, up to {_most_at_once(jobs, cluster)} ran at once"
    if (jobs["queue"] != "").any():
        yield "queues have no limits of their own: any job may use any node"


def _most_at_once(jobs: pd.DataFrame, cluster: Cluster) -> str:
    """Return the most cores and GPUs that ran at once by recorded starts, and those there are."""
    known = jobs[jobs["recorded_start_s"].notna()]
    start_s, parts = known["recorded_start_s"], known["parts"]
    said = []
    for unit, field in (("cores", "cpu_milli"), ("GPUs", "gpu_milli")):
        asked = (known[field] * parts / 1000).to_numpy()
        times_s = np.concatenate([start_s, start_s + known["run_s"]])
        changes = np.concatenate([asked, -asked])
        order = np.lexsort((changes, times_s))  # ends before starts
        most = np.cumsum(changes[order]).max()
        has = sum(
            count * getattr(each, field)
            for each, count in zip(cluster.node_types, cluster.counts, strict=True)
        )
        if most > 0:
            said.append(f"{most:,.0f} of the {has // 1000:,} {unit}")
    return " and ".join(said)


def _outcome(
    name: str,
    result: BatchResult,
    jobs: pd.DataFrame,
    cluster: Cluster,
    price: EnergyCurve | None,
    carbon: EnergyCurve | None,
    operation: Operation,
) -> PolicyOutcome:
    counted = jobs["counted"].to_numpy()
    schedule = result.schedule[counted]
    powered = any(map(has_power, cluster.node_types))
    has_gpus = any(each.gpu_milli for each in cluster.node_types)
    shares = {name: min(1.0, share) for name, share in result.utilisation.items()}  # rounding
    grams = cost_of_energy(carbon, result) if carbon else None
    found = result.interruptions
    has_costs = found.count > 0 or found.checkpoint_h > 0
    return PolicyOutcome(
        policy=name,
        schedule=f"schedule_{_stem(name)}.parquet",
        waits=waits_of(jobs[counted], schedule["wait_s"], schedule["end_s"] - schedule["submit_s"]),
        makespan_s=result.makespan_s,
        cpu_share=shares.get("cpu", 0.0),
        gpu_share=shares.get("gpu", 0.0) if has_gpus else None,
        idle_energy_j=result.idle_energy_j if powered else None,
        active_energy_j=result.active_energy_j if powered else None,
        cost_eur=cost_of_energy(price, result) if price else None,
        carbon_kg=None if grams is None else grams / 1000,
        peak_power_w=result.peak_power_w if powered else None,
        deadlines=deadlines_of(jobs[counted], schedule),
        startups=startups_of(result, operation.images),
        node_use=node_use(result, operation),
        interruptions=found if has_costs else None,
        runs=f"runs_{_stem(name)}.parquet" if found.count else None,
    )


def has_power(node_type: NodeType) -> bool:
    """Return whether the power of a node type is known."""
    level = node_type.levels[-1]
    return node_type.idle_w + level.active_w + level.gpu_active_w > 0


def cost_of_energy(curve: EnergyCurve, result: BatchResult) -> float:
    """Return the cost of the energy of all runs, and of idle nodes until the last end.

    The idle energy counts as drawn evenly, also where nodes sleep.
    """
    runs = result.runs
    active = curve.of_runs(
        runs["start_s"].to_numpy(), runs["end_s"].to_numpy(), runs["energy_j"].to_numpy()
    )
    begin_s = np.array([result.schedule["submit_s"].min()])
    whole = begin_s, begin_s + result.makespan_s, np.array([result.idle_energy_j])
    return active + curve.of_runs(*whole)


def _stem(policy: str) -> str:
    """Return the part of a file's name that stands for a policy."""
    return re.sub(r"[^A-Za-z0-9.=+-]+", "_", policy).strip("_.")
