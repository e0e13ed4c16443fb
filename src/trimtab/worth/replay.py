"""A queue with some stages on: its figures, all of which are better where they are smaller."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from trimtab.batch.comparing import cost_of_energy, has_power
from trimtab.batch.curves import EnergyCurve
from trimtab.batch.interruptions.spot import Reclaims
from trimtab.batch.simulate import BatchResult, simulate_batch
from trimtab.clusters.cluster import Cluster
from trimtab.worth.stages import Plan, Stage

_MONTH_S = 365.25 * 86400 / 12
_CENTURY_S = 36525 * 86400.0
Figures = dict[str, float]
Held = Literal["gpu", "core"]


@dataclass(frozen=True)
class Prices:
    """What things cost; None where that was not given, and then it does not count.

    Energy as curves in EUR and gCO2e per kWh, nodes in EUR an hour by type, a GB that leaves the
    registry, and one that it holds for a month.
    """

    energy: EnergyCurve | None = None
    carbon: EnergyCurve | None = None
    nodes: Mapping[str, float] | None = None
    egress_eur_per_gb: float | None = None
    storage_eur_per_gb_month: float | None = None

    @property
    def has_euro(self) -> bool:
        """Whether anything has a price in euro."""
        euro = self.energy, self.nodes, self.egress_eur_per_gb, self.storage_eur_per_gb_month
        return any(each is not None for each in euro)

    @property
    def have_ends(self) -> bool:
        """Whether a curve is neither constant nor repeated."""
        return any(each is not None and _has_ends(each) for each in (self.energy, self.carbon))

    @property
    def lasting(self) -> "Prices":
        """The prices of replications, which may outlast a curve: its first and last value last."""
        return replace(self, energy=_lasting(self.energy), carbon=_lasting(self.carbon))


def _has_ends(curve: EnergyCurve) -> bool:
    return math.isfinite(curve.end_s) and not curve.repeats


def _lasting(curve: EnergyCurve | None) -> EnergyCurve | None:
    if curve is None or not _has_ends(curve):
        return curve
    times_s = curve.times_s.copy()
    times_s[0] -= _CENTURY_S
    return replace(curve, times_s=times_s, end_s=curve.end_s + _CENTURY_S)


class Replay(NamedTuple):
    """Figures by name, and the pulls and start-up seconds by image."""

    figures: Figures
    pulls: dict[str, int]
    startup_s: dict[str, float]


def held_by(jobs: pd.DataFrame) -> Held:
    """Return whether GPU-hours or core-hours count: GPU-hours if any job (BATCH_JOBS) has a GPU."""
    return "gpu" if (jobs["gpu_milli"] > 0).any() else "core"


def replay(
    jobs: pd.DataFrame,
    cluster: Cluster,
    plan: Plan,
    stages: tuple[Stage, ...],
    prices: Prices,
    held: Held,
    seed: int = 0,
) -> Replay:
    """Simulate jobs (BATCH_JOBS) that all fit the nodes, with some stages on.

    `seed` draws when nodes are reclaimed, the same in all settings. `held` says which hours count:
    those of the recorded queue in all replications. Raises UserError as simulate_batch does, and
    where a curve does not cover the schedule.
    """
    nodes = Stage.NODES in stages
    changed = plan.jobs(jobs, stages)
    result = simulate_batch(
        changed,
        cluster,
        plan.policy(stages),
        sleep=plan.sleep if nodes else None,
        autoscale=plan.autoscale if nodes else None,
        power_cap_w=plan.operation.power_cap_w,
        images=plan.starts(stages),
        registry_bytes_per_s=plan.assumed.registry_mbit_per_s * 1e6 / 8,
        reclaims=Reclaims(plan.spots, cluster, seed) if plan.spots else None,
        preemption=plan.preemption,
    )
    startup_s = result.schedule["startup_s"].to_numpy(np.float64)
    by_image = pd.Series(startup_s).groupby(jobs["image"].to_numpy()).sum()
    return Replay(
        _figures(changed, cluster, plan, stages, prices, held, result),
        result.pulls,
        {name: float(by_image.get(name, 0.0)) for name in plan.images},
    )


def _figures(
    jobs: pd.DataFrame,
    cluster: Cluster,
    plan: Plan,
    stages: tuple[Stage, ...],
    prices: Prices,
    held: Held,
    result: BatchResult,
) -> Figures:
    schedule = result.schedule
    counted = jobs["counted"].to_numpy(bool)
    if not counted.any():  # of a small replication
        counted = ~counted
    startup_s = schedule["startup_s"].to_numpy(np.float64)
    response_s = (schedule["end_s"] - schedule["submit_s"]).to_numpy(np.float64)[counted]
    figures: Figures = {}
    if plan.has_sizes:
        figures["pulled_bytes"] = result.pulled_bytes
    figures["startup_s"] = float(startup_s.sum())
    figures["mean_startup_s"] = float(startup_s[counted].mean())
    figures["mean_response_s"] = float(response_s.mean())
    figures["p95_response_s"] = float(np.quantile(response_s, 0.95))
    # A job holds what it asks for while its image is pulled, too, and in runs that are interrupted.
    runs = result.runs
    held_s = (runs["end_s"] - runs["start_s"] + runs["startup_s"]) * runs["parts"]
    asked = jobs.set_index("job")["gpu_milli" if held == "gpu" else "cpu_milli"]
    figures[f"{held}_hours"] = float(held_s @ asked.loc[runs["job"]].to_numpy()) / 1000 / 3600
    if plan.operation.autoscale is not None or prices.nodes is not None:
        figures["node_hours"] = sum(result.hours_on.values())
    if any(map(has_power, cluster.node_types)):
        figures["energy_j"] = result.idle_energy_j + result.active_energy_j
    if prices.has_euro:
        figures["eur"] = _euro(plan, stages, prices, result)
    if prices.carbon is not None:
        figures["carbon_g"] = cost_of_energy(prices.carbon, result)
    return figures


def _euro(
    plan: Plan,
    stages: tuple[Stage, ...],
    prices: Prices,
    result: BatchResult,
) -> float:
    total = 0.0
    if prices.energy is not None:
        total += cost_of_energy(prices.energy, result)
    if prices.nodes is not None:
        total += sum(hours * prices.nodes[name] for name, hours in result.hours_on.items())
    if prices.egress_eur_per_gb is not None:
        total += prices.egress_eur_per_gb * result.pulled_bytes / 1e9
    if prices.storage_eur_per_gb_month is not None:
        held = sum(plan.side(name, stages).size_bytes or 0.0 for name in plan.images) / 1e9
        total += prices.storage_eur_per_gb_month * held * result.makespan_s / _MONTH_S
    return total
