"""The jobs that a cap of power leaves out."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.model import Kinds, with_room
from trimtab.batch.power import Whole, milliwatts, node_power, power_of_parts
from trimtab.batch.sleep import Sleep
from trimtab.clusters.cluster import Cluster
from trimtab.errors import UserError


def with_room_and_power(
    jobs: pd.DataFrame,
    kinds: Kinds,
    cluster: Cluster,
    sleeps: Sequence[Sleep | None],
    cap_w: float | None,
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which jobs (BATCH_JOBS) can run, and which have room but exceed the cap alone."""
    room = with_room(jobs, kinds)
    if cap_w is None:
        return room, np.zeros(len(jobs), bool)
    least_parts = jobs["least_parts"].to_numpy(np.int64)
    power = _with_power(least_parts, kinds, cluster, sleeps, cap_w)
    return room & power, room & ~power


def _with_power(
    least_parts: Whole,
    kinds: Kinds,
    cluster: Cluster,
    sleeps: Sequence[Sleep | None],
    cap_w: float,
) -> NDArray[np.bool_]:
    """Return which jobs, alone and at their least width, stay below a cap on one node type.

    Their power is that at the level that draws most, so they are the same for all policies. Raises
    UserError if the nodes alone draw more.
    """
    power = node_power(cluster, sleeps)
    if power.least_mw > cap_w * 1000:
        raise UserError(
            f"--power-cap-kw: {cap_w / 1000:g} given, and the nodes draw {power.least_mw / 1e6:g}"
            " kW without a job; expected more, or nodes that sleep (--sleep-after, --autoscale)"
        )
    enough = np.zeros(len(least_parts), bool)
    for number, node_type in enumerate(cluster.node_types):
        levels = range(len(node_type.levels))
        part_w = np.max([power_of_parts(kinds.rows, node_type, each) for each in levels], axis=0)
        most_parts = kinds.most_parts[:, number]
        of_node = np.maximum(most_parts // power.counts[number], 1)[kinds.of_job]
        nodes = -(-least_parts // of_node)
        needed_mw = least_parts * milliwatts(part_w)[kinds.of_job] + nodes * power.saved_mw[number]
        able = np.isfinite(kinds.slowdown[:, number])[kinds.of_job]
        able &= least_parts <= most_parts[kinds.of_job]
        enough |= able & (power.least_mw + needed_mw <= cap_w * 1000)
    return enough
