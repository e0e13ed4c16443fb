"""What each stage is worth to a queue: the recorded one, and twenty that might have been."""

import math
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from trimtab.batch.comparing import has_power
from trimtab.batch.demands import largest_demand, suggested_nodes
from trimtab.batch.figures import offered_load, recorded_waits
from trimtab.batch.model import kinds_of
from trimtab.batch.power_cap import with_room_and_power
from trimtab.batch.readers.read import ReadJobs
from trimtab.batch.sleep import sleeps_of
from trimtab.batch.window import in_window
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError
from trimtab.records.batch.comparison import NodeGroup, format_duration
from trimtab.records.batch.replications import REPLICATIONS
from trimtab.records.batch.worth import Saving, Setting, SettingFigure, Worth
from trimtab.records.parquet.files import write_table
from trimtab.worth.fleet_images import about
from trimtab.worth.job_images import images_without_row
from trimtab.worth.ranking import SLIM_STAGES, first_few, ranked
from trimtab.worth.replay import Figures, Prices, held_by, replay
from trimtab.worth.resampling import block_length_s, resampled
from trimtab.worth.stages import Plan, Stage, ablation
from trimtab.worth.verdict import next_command, verdict_of

MOST = 20  # replications
_STUDENT_T = 2.093  # 97.5 % with 19 degrees of freedom
Table = dict[str, Figures]  # by setting


def weigh(
    file: Path, read: ReadJobs, cluster: Cluster, plan: Plan, prices: Prices, folder: Path
) -> Worth:
    """Replay the jobs of `file` in each setting; write `worth.json` and a table into `folder`.

    `replications.parquet` is the table REPLICATIONS. Raises UserError if no job fits the nodes, or
    names an image of the plan, and as prices do.
    """
    jobs, left_out, remarks = _usable(file, read, cluster, plan)
    plan = plan.only(set(jobs["image"]))
    _check_prices(cluster, plan, prices)
    settings = ablation(plan.stages)
    slim = tuple(stage for stage in SLIM_STAGES if stage in plan.stages)
    recorded = {
        stages: replay(jobs, cluster, plan, stages, prices, held_by(jobs))
        for stages in dict.fromkeys([*settings.values(), slim])
    }
    first = {name: recorded[stages].figures for name, stages in settings.items()}
    tables = [first, *_replicated(jobs, cluster, plan, prices.lasting, settings)]
    images = ranked(jobs, plan, recorded[()], recorded[slim])
    few, share = first_few(images)
    shown = [_setting(name, settings[name], tables) for name in settings]
    document = Worth(
        file=str(file),
        format=read.format,
        jobs=len(jobs),
        left_out=left_out,
        span_s=float(np.ptp(jobs["submit_s"])),
        nodes=[
            NodeGroup(each.name, count, each.cpu_milli, each.gpu_milli)
            for each, count in zip(cluster.node_types, cluster.counts, strict=True)
        ],
        replications=len(tables) - 1,
        stages=[str(stage) for stage in plan.stages],
        settings=shown,
        images=images,
        first=few,
        first_share=share,
        verdict=verdict_of(shown[0], shown[:2][-1]),
        next=next_command(images, few),
        remarks=[*remarks, *_about(jobs, cluster, plan, prices), *_against_record(jobs, first)],
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "replications.parquet", REPLICATIONS, _rows(tables))
    document.write(folder / "worth.json")
    return document


def _usable(
    file: Path, read: ReadJobs, cluster: Cluster, plan: Plan
) -> tuple[pd.DataFrame, int, list[str]]:
    """Return the jobs that fit the nodes, as `in_window` does, how many do not, and remarks."""
    sleeps = sleeps_of(cluster, plan.sleep, plan.operation.autoscale or {})
    kinds = kinds_of(read.jobs, cluster)
    fits, _ = with_room_and_power(read.jobs, kinds, cluster, sleeps, None)
    if not fits.any():
        raise UserError(
            f"{file}: no job fits the nodes; {largest_demand(read.jobs)}; expected --nodes that"
            f" have this, such as --nodes {suggested_nodes(read.jobs)}"
        )
    jobs, about_window = in_window(read.jobs[fits].reset_index(drop=True))
    unknown = images_without_row(jobs, plan.images)
    if jobs["image"].eq("").all():
        raise UserError(
            f"{file}: no job names an image (a column image, sacct's Container or Comment);"
            " expected --map FILE, a CSV such as: image,user,queue"
        )
    if not jobs["image"].isin(plan.images).any():
        named = ", ".join(unknown.index[:3])
        raise UserError(f"--images: no row of an image of {file}: {named[:300]}; expected these")
    remarks = [*about_window, *read.remarks]
    if len(unknown):
        remarks.append(
            f"{unknown.sum():,} jobs name {len(unknown):,} images without a row in --images, and"
            f" start at once: {', '.join(unknown.index[:3])[:200]}"
        )
    if count := int(jobs["image"].eq("").sum()):
        remarks.append(f"jobs that name no image start at once: {count:,}")
    return jobs, int((~fits).sum()), remarks


def _check_prices(cluster: Cluster, plan: Plan, prices: Prices) -> None:
    if (prices.energy or prices.carbon) and not any(map(has_power, cluster.node_types)):
        raise UserError(
            "--price and --carbon: no power is known of the nodes; expected --nodes with names of"
            " conf/hardware/, such as epyc_9654:4"
        )
    by_size = prices.egress_eur_per_gb, prices.storage_eur_per_gb_month
    if any(each is not None for each in by_size) and not plan.has_sizes:
        raise UserError(
            "--egress-price and --storage-price: expected bytes of each image that"
            " jobs use in --images, and of each slim one"
        )


def _replicated(
    jobs: pd.DataFrame,
    cluster: Cluster,
    plan: Plan,
    prices: Prices,
    settings: Mapping[str, tuple[Stage, ...]],
) -> Iterator[Table]:
    """Yield the figures of each replication, whose jobs are the same in all settings.

    None if all jobs are submitted at one instant: each replication would be the recorded queue.
    """
    if not block_length_s(jobs):
        return
    held = held_by(jobs)

    def figures(replication: int) -> Table:
        drawn = resampled(jobs, replication)
        return {
            name: replay(drawn, cluster, plan, stages, prices, held, replication).figures
            for name, stages in settings.items()
        }

    # Threads do: most of the time is that of compiled code, which lets others run.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        yield from pool.map(figures, range(1, MOST + 1))


def _setting(name: str, stages: tuple[Stage, ...], tables: list[Table]) -> Setting:
    recorded, *replications = tables
    none = next(iter(recorded))
    figures = []
    for figure, value in recorded[name].items():
        before = recorded[none][figure]
        pairs = [(table[none][figure], table[name][figure]) for table in replications]
        figures.append(SettingFigure(figure, value, _saving(before, before - value, pairs)))
    return Setting(name, [str(stage) for stage in stages], figures)


def _saving(before: float, saved: float, pairs: list[tuple[float, float]]) -> Saving:
    """Return what is saved, and its interval by the figures before and after of replications."""
    if not pairs:
        return Saving(saved, None, None)
    if before:
        deviation = before * float(np.std([_share(*pair) for pair in pairs], ddof=1))
    else:
        deviation = float(np.std([was - now for was, now in pairs], ddof=1))
    half = _STUDENT_T * deviation
    return Saving(saved, saved - half, saved + half)


def _share(before: float, after: float) -> float:
    """Return the saving as a share: some replications have more jobs than others."""
    return (before - after) / before if before else 0.0


def _rows(tables: list[Table]) -> pd.DataFrame:
    rows = [
        (replication, setting, figure, value)
        for replication, table in enumerate(tables)
        for setting, figures in table.items()
        for figure, value in figures.items()
    ]
    return pd.DataFrame(rows, columns=REPLICATIONS.names)


def _against_record(jobs: pd.DataFrame, first: Table) -> Iterator[str]:
    if (recorded := recorded_waits(jobs[jobs["counted"]])) is not None:
        replayed_s = next(iter(first.values()))["mean_response_s"]
        yield (
            f"mean response as recorded: {format_duration(recorded.every.mean_response_s)}; in the"
            f" replay as it is: {format_duration(replayed_s)}"
        )


def _about(jobs: pd.DataFrame, cluster: Cluster, plan: Plan, prices: Prices) -> Iterator[str]:
    load = offered_load(jobs, cluster)
    if load is not None and load > 1:
        yield (
            f"jobs ask for {load:.2f} times what the nodes have, so responses grow with the length"
            " of the log"
        )
    yield from about(plan.images.values(), plan.assumed)
    yield (
        "nodes begin without images, and keep what they pulled until they are switched off;"
        " totals are of all jobs, means of those whose waits count"
    )
    yield (
        "recorded run times count without start-ups: where they contain these, responses and hours"
        " are too long by them in every setting"
    )
    if plan.shares_layers:
        yield (
            "a node pulls a layer once; ranks and storage count images whole, as all do slim images"
            " without slim_layers"
        )
    else:
        yield "an image is pulled whole: layers that nodes have from other images count again"
    if math.isinf(plan.assumed.registry_mbit_per_s):
        yield "nodes do not share the bandwidth of a pull; --registry-mbit says how much there is"
    else:
        yield (
            f"the registry sends {plan.assumed.registry_mbit_per_s:,g} Mbit/s to all nodes"
            " together, one image after the other"
        )
    if any(each.slim is not None and each.slim.restore_s for each in plan.images.values()):
        yield "restoring what slim images lack counts on average, in each of their starts"
    for spot in plan.spots:
        yield (
            f"nodes {spot.node_type} are reclaimed {spot.per_node_hour:g} times an hour, at the"
            " same random times in all settings"
        )
    if any(map(has_power, cluster.node_types)):
        yield "energy is modelled, by the idle and the busy power in conf/hardware"
    if not block_length_s(jobs):
        yield (
            "all jobs are submitted at one instant, so there is nothing to resample: no interval is"
            " known, and no change is clear"
        )
        return
    if prices.have_ends:
        yield "resampled queues may outlast a curve: its last value lasts"
    yield (
        f"intervals are of 95 %, by {MOST} queues of resampled blocks of submissions; a change"
        " whose interval spans zero is no change"
    )
