"""Clusters of workloads by the events of their epochs, by PipeTune's k-means.

Rocha's thesis, section 6.3.4: k-means with k = 2 over profiles.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from trimtab.evaluation.report.figures import Figure, data, hover, in_order, scaled
from trimtab.evaluation.report.tables import SOURCE_COLUMNS, Column, Table
from trimtab.evaluation.schedules.section import figure_of, palette_colour
from trimtab.evaluation.tuning.section import TuningSection

_CLUSTERS = 2  # as published
_FEW = 10.0  # events a second: smaller differences mean nothing, as in the ground truth
_SMALLEST_SPREAD = 0.2  # of logarithms, as in the ground truth
_NAMES = tuple(f"cluster {number + 1}" for number in range(_CLUSTERS))


class Clusters(TuningSection):
    """The epochs of all workloads in two clusters by their events."""

    order = 652

    @property
    def applies(self) -> bool:
        """Whether the events of more than one workload were recorded."""
        return super().applies and not self._epochs.empty

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each workload: the number of its epochs in each cluster."""
        counts = self._epochs.groupby(["workload", "cluster"], sort=False).size()
        yield Table(
            "profile_clusters",
            "Workloads by cluster",
            "How many of a workload's epochs k-means put in which of two clusters, by the events "
            "that all workloads have, in logarithms scaled to the same spread.",
            (
                Column("name", "Workload"),
                *(Column(name.replace(" ", "_"), name.capitalize(), 0) for name in _NAMES),
                *SOURCE_COLUMNS,
            ),
            tuple(
                {
                    "name": workload,
                    **{
                        name.replace(" ", "_"): int(counts.get((workload, name), 0))
                        for name in _NAMES
                    },
                    "source": "measured",
                }
                for workload in in_order(self._epochs["workload"])
            ),
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the epochs in the plane of their largest variance."""
        table = self._epochs
        workloads, rows = in_order(table["workload"]), table.to_dict("records")
        chart = (
            alt.Chart(data([{str(key): value for key, value in row.items()} for row in rows]))
            .mark_point(size=44, opacity=0.8)
            .encode(
                x=alt.X("first:Q", title="First principal component"),
                y=alt.Y("second:Q", title="Second principal component"),
                color=palette_colour("workload", workloads, "Workload"),
                shape=scaled(alt.Shape, "cluster:N", _NAMES, ("circle", "triangle-up")),
                tooltip=hover("workload", "cluster"),
            )
            .properties(width=420, height=280)
        )
        yield from figure_of(
            "profile_clusters",
            "Workloads by their events",
            "Each mark is an epoch of a trial; its shape is its cluster (k-means, two "
            "clusters), its colour the workload. The axes are the two on which epochs differ "
            "most.",
            [chart],
        )

    @cached_property
    def _epochs(self) -> pd.DataFrame:
        """A row per epoch: workload, cluster, and its place in the plane; none for one workload."""
        found = [
            (cell.workload, rates)
            for cell in self.measurements.tunings
            for rates in cell.epochs["rates"]
            if rates
        ]
        events = sorted(set.intersection(*(set(rates) for _, rates in found))) if found else []
        workloads = [workload for workload, _ in found]
        columns = ["workload", "cluster", "first", "second"]
        if len(set(workloads)) < 2 or len(events) < 2:
            return pd.DataFrame(columns=columns)
        rows = np.log(np.array([[rates[event] for event in events] for _, rates in found]) + _FEW)
        scaled_rows = (rows - rows.mean(axis=0)) / np.maximum(rows.std(axis=0), _SMALLEST_SPREAD)
        return pd.DataFrame(zip(workloads, *_grouped(scaled_rows), strict=True), columns=columns)


def _grouped(rows: Any) -> tuple[list[str], list[float], list[float]]:
    """Return each row's cluster and its two principal components."""
    # Its import takes a second, which reports without tuning do not need.
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA

    labels = KMeans(_CLUSTERS, n_init=10, random_state=0).fit_predict(rows)
    plane = PCA(2).fit_transform(rows)
    return [_NAMES[label] for label in labels], list(plane[:, 0]), list(plane[:, 1])
