"""How the nodes are operated, and what that means for deadlines, start-ups and rented nodes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from trimtab.batch.images import ImageStart
from trimtab.batch.simulate import BatchResult
from trimtab.batch.sleep import Sleep
from trimtab.errors import UserError
from trimtab.records.batch.operation import DeadlineFigures, NodeUse, StartupFigures


class Operation(NamedTuple):
    """Nodes that are switched on and off, by type; a cap of power; times of start-up by image.

    `node_prices` are EUR per hour, by type.
    """

    autoscale: Mapping[str, Sleep] | None = None
    power_cap_w: float | None = None
    images: Mapping[str, ImageStart] | None = None
    node_prices: Mapping[str, float] | None = None


AS_THEY_ARE = Operation()


def check_images(file: Path, jobs: pd.DataFrame, images: Mapping[str, ImageStart] | None) -> None:
    """Raise UserError where `images` lacks one of the jobs', or jobs have none."""
    if images is None:
        return
    names = set(jobs["image"].astype(str)) - {""}
    if not names:
        raise UserError(f"{file}: no column image; expected one, as --images is given")
    if unknown := sorted(names - images.keys()):
        said = ", ".join(unknown[:3]) + (f" and {len(unknown) - 3:,} more" * (len(unknown) > 3))
        raise UserError(f"--images: no row of {said}; expected a row for each image of {file}")


def deadlines_of(jobs: pd.DataFrame, schedule: pd.DataFrame) -> DeadlineFigures | None:
    """Return the figures of the jobs (BATCH_JOBS) with a deadline; None if there are none.

    Both tables have the same index.
    """
    late_s = (schedule["end_s"] - jobs["deadline_s"])[jobs["deadline_s"].notna()]
    if late_s.empty:
        return None
    return DeadlineFigures(
        jobs=len(late_s),
        late_share=float((late_s > 0).mean()),
        mean_tardiness_s=float(late_s.clip(lower=0.0).mean()),
    )


def startups_of(
    result: BatchResult, images: Mapping[str, ImageStart] | None
) -> StartupFigures | None:
    """Return the figures of start-ups; None without times of images."""
    if images is None:
        return None
    known = all(
        images[name].size_bytes is not None for name, pulls in result.pulls.items() if pulls
    )
    return StartupFigures(
        startup_s=float(result.schedule["startup_s"].sum()),
        cold_starts=result.cold_starts,
        pulled_bytes=round(result.pulled_bytes) if known else None,
    )


def node_use(result: BatchResult, operation: Operation) -> NodeUse | None:
    """Return hours and cost of nodes; None if they are neither switched nor priced."""
    if operation.autoscale is None and operation.node_prices is None:
        return None
    prices = operation.node_prices
    return NodeUse(
        hours=sum(result.hours_on.values()),
        cost_eur=None
        if prices is None
        else sum(hours * prices[name] for name, hours in result.hours_on.items()),
    )


def about_operation(jobs: pd.DataFrame, operation: Operation) -> Iterator[str]:
    """Yield what is assumed, as sentences."""
    if operation.power_cap_w is not None:
        yield (
            f"power below {operation.power_cap_w / 1000:g} kW is modelled: idle nodes that are on,"
            " and what running jobs draw above"
        )
    for name, each in (operation.autoscale or {}).items():
        yield f"{name}: off until needed, {each.wake_s:g} s to boot, off after {each.after_s:g} s"
    if operation.images is not None:
        yield "nodes keep all images that they pulled until they are switched off"
        without = int((jobs["image"] == "").sum())
        if without:
            yield f"jobs that name no image start at once: {without:,}"
    moldable = int((jobs["least_parts"] < jobs["most_parts"]).sum())
    if moldable:
        yield f"jobs that choose their width: {moldable:,}; run times follow Amdahl's law"
