"""PipeTune's ground truth: a job like an earlier one gets the settings that were best for that.

Thesis, sections 6.3.4 and 6.3.6. Jobs are compared by the counters of one epoch; the logarithms of
their rates are scaled to the same spread, and clustered. A new job is like its cluster when it is
no further from the centre than the cluster's own jobs are, by the root of the mean square that
the model's inertia is the sum of.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from trimtab.records.tuning.ground_truth import KnownJob, Setting

PUBLISHED_CLUSTERS = 2
_MOST_CLUSTERS = 8
_RESTARTS = 10  # of k-means, from other first centres
_SMALLEST_SPREAD = 0.05  # of logarithms: what two runs of the same job differ by
FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass(frozen=True)
class Match:
    """The known job that is nearest to a new one in its cluster.

    `distance` is that from the cluster's centre and `radius` the largest that counts as alike,
    both in spreads of the known jobs.
    """

    job: KnownJob
    distance: float
    radius: float

    @property
    def is_alike(self) -> bool:
        """Whether the known job's settings are to be taken over."""
        return self.distance <= self.radius


class GroundTruth:
    """Known jobs on one kind of machine, judged by one objective; others are left out.

    `clusters` is the number of k-means' clusters, and None chooses it by the mean silhouette.
    `tolerance` is the radius within which a job is alike, in root mean squares of the cluster's.
    """

    def __init__(
        self,
        jobs: Sequence[KnownJob],
        machine: str,
        objective: str,
        *,
        clusters: int | None = PUBLISHED_CLUSTERS,
        tolerance: float = 2.0,
    ) -> None:
        self.machine, self.objective = machine, objective
        self.clusters, self.tolerance = clusters, tolerance
        self.jobs = [job for job in jobs if (job.machine, job.objective) == (machine, objective)]

    def match(self, rates: Mapping[str, float]) -> Match | None:
        """Return the known job that is most like one with these counters per second.

        None where no known job has the same counters. Raises ValueError for a rate below 0.
        """
        names = sorted(rates)
        alike = [job for job in self.jobs if sorted(job.rates) == names]
        if not alike:
            return None
        rows = np.array([_logarithms(job.rates, names) for job in alike])
        scaler = StandardScaler().fit(rows)
        scaler.scale_ = np.maximum(scaler.scale_, _SMALLEST_SPREAD)
        known, new = scaler.transform(rows), scaler.transform([_logarithms(rates, names)])[0]
        labels = self._labels(known)
        centres = {label: known[labels == label].mean(axis=0) for label in set(labels.tolist())}
        label = min(centres, key=lambda one: _distance(new, centres[one]))
        members = [number for number in range(len(alike)) if labels[number] == label]
        square = np.mean([_distance(known[number], centres[label]) ** 2 for number in members])
        nearest = min(members, key=lambda number: _distance(new, known[number]))
        # A cluster of one job has no spread of its own: that of repeated runs stands for it.
        radius = self.tolerance * max(math.sqrt(square), math.sqrt(len(names)) * _noise(scaler))
        return Match(alike[nearest], _distance(new, centres[label]), radius)

    def learn(self, rates: Mapping[str, float], settings: Mapping[str, Setting]) -> KnownJob:
        """Keep the best settings of a job that was probed, and return what is kept."""
        job = KnownJob(self.machine, self.objective, dict(rates), dict(settings))
        self.jobs.append(job)
        return job

    def _labels(self, rows: FloatArray) -> FloatArray:
        different = len(np.unique(rows, axis=0))
        if self.clusters is not None:
            return _clustered(rows, min(self.clusters, different))
        tried = [
            _clustered(rows, count)
            for count in range(2, min(_MOST_CLUSTERS, different - 1, len(rows) - 1) + 1)
        ]
        if not tried:
            return np.zeros(len(rows))
        return max(tried, key=lambda labels: float(silhouette_score(rows, labels)))


def _clustered(rows: FloatArray, count: int) -> FloatArray:
    model = KMeans(n_clusters=count, n_init=_RESTARTS, random_state=0)
    with threadpool_limits(1):  # for a few rows, and beside a training
        labels: FloatArray = model.fit_predict(rows)
    return labels


def _logarithms(rates: Mapping[str, float], names: Sequence[str]) -> list[float]:
    if wrong := [name for name in names if not rates[name] >= 0]:
        raise ValueError(f"{wrong[0]}: {rates[wrong[0]]} a second, expected at least 0")
    return [math.log1p(rates[name]) for name in names]


def _noise(scaler: StandardScaler) -> float:
    """What repeated runs differ by, in spreads of the known jobs, in the mean of the counters."""
    return float(np.sqrt(np.mean((_SMALLEST_SPREAD / scaler.scale_) ** 2)))


def _distance(left: FloatArray, right: FloatArray) -> float:
    return float(np.linalg.norm(left - right))
