"""PipeTune's ground truth: a job like an earlier one gets that one's best settings.

Thesis, sections 6.3.4 and 6.3.6. Jobs are compared by the counters of a first epoch under the same
settings. Their logarithms are scaled to equal spread, and clustered. A new job matches its cluster
if its distance from the centre is at most `tolerance` times the root mean square distance of the
cluster's jobs. We add that it must also match in each single counter: a random counter would
otherwise hide differences in the others.

A spread is at least the spread within one search, whose trials differ in hyperparameters: standard
deviations of up to 0.4 in the logarithms, with LeNet5 and k-means. Page faults and voluntary
switches vary more from run to run, by allocator and thread timing: up to 1.7 and 2.0.
"""

import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import sklearn.cluster
from sklearn.base import ClusterMixin
from sklearn.metrics import silhouette_score
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from trimtab.config.validate import nearest
from trimtab.errors import UserError
from trimtab.records.tuning.ground_truth import EventProfile, KnownJob, RelativeCost
from trimtab.tuning.system.system_tuner import Settings

PUBLISHED_CLUSTERS = 2
_MOST_CLUSTERS = 8
_RESTARTS = 10  # of k-means, from other initial centres
_NOISE = 0.4  # standard deviation of logarithms between trials of one search
_MUCH_NOISE = {"minor_faults": 1.7, "voluntary_switches": 2.0}
_FEW = 10.0  # events: smaller differences mean nothing
FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Key = tuple[tuple[str, float], ...]


def key_of(settings: Settings) -> Key:
    """Return settings as a dictionary key."""
    return tuple(sorted(settings.items()))


@dataclass
class GroundTruthJob:
    """The knowledge of a job, which grows: see the record."""

    machine: str
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    profiles: dict[Key, EventProfile] = field(default_factory=dict)
    costs: dict[Key, RelativeCost] = field(default_factory=dict)
    probing: set[Key] = field(default_factory=set)  # by running trials

    @classmethod
    def known(cls, record: KnownJob) -> "GroundTruthJob":
        """Return the job of a record."""
        profiles = {key_of(one.settings): one for one in record.profiles}
        costs = {key_of(one.settings): one for one in record.costs}
        return cls(record.machine, record.id, profiles, costs)

    @property
    def record(self) -> KnownJob:
        """The job's record, for sharing."""
        profiles, costs = list(self.profiles.values()), list(self.costs.values())
        return KnownJob(self.id, self.machine, profiles, costs)


@dataclass(frozen=True)
class Match:
    """The known job that is nearest to a new one in its cluster.

    `distance` is the new job's distance from the cluster's centre, `radius` the largest distance
    that matches; both in spreads of the known jobs. `furthest` is the largest distance in one
    counter, relative to the largest that matches there.
    """

    job: GroundTruthJob
    distance: float
    radius: float
    furthest: float

    @property
    def is_alike(self) -> bool:
        """Whether the known job's settings hold for the new one."""
        return self.distance <= self.radius and self.furthest <= 1


class GroundTruth:
    """Known jobs on one kind of machine; those of other machines are left out.

    `clusterer` names a class of scikit-learn. `clusters` is its number of clusters, if it takes
    one; None chooses it by the mean silhouette. `tolerance` is the matching radius, in root mean
    square distances of the cluster. Raises UserError for an unknown clusterer.
    """

    def __init__(
        self,
        jobs: Sequence[KnownJob],
        machine: str,
        *,
        clusterer: str = "KMeans",
        clusters: int | None = PUBLISHED_CLUSTERS,
        tolerance: float = 2.0,
    ) -> None:
        self.machine, self.clusters, self.tolerance = machine, clusters, tolerance
        self.jobs = [GroundTruthJob.known(job) for job in jobs if job.machine == machine]
        self._clusterer = _clusterer(clusterer)

    def match(self, counts: Mapping[str, float], settings: Settings) -> Match | None:
        """Return the most similar known job, given counts under these settings.

        None where no known job has a profile of these counters under these settings. Raises
        ValueError for a count below 0.
        """
        names, key = sorted(counts), key_of(settings)
        alike = [
            job
            for job in self.jobs
            if key in job.profiles and sorted(job.profiles[key].counts) == names
        ]
        if not alike:
            return None
        rows = np.array([_logarithms(job.profiles[key].counts, names) for job in alike])
        scaler = StandardScaler().fit(rows)
        noise = np.array([_MUCH_NOISE.get(name, _NOISE) for name in names])
        scaler.scale_ = np.maximum(rows.std(axis=0), noise)
        known, new = scaler.transform(rows), scaler.transform([_logarithms(counts, names)])[0]
        labels = self._labels(known)
        centres = {label: known[labels == label].mean(axis=0) for label in set(labels.tolist())}
        label = min(centres, key=lambda one: _distance(new, centres[one]))
        members = [number for number in range(len(alike)) if labels[number] == label]
        squares = np.mean((known[members] - centres[label]) ** 2, axis=0)
        nearest_one = min(members, key=lambda number: _distance(new, known[number]))
        # A cluster of one job has no spread: the spread within a search replaces it.
        alone = noise / scaler.scale_
        radius = self.tolerance * max(math.sqrt(squares.sum()), float(np.linalg.norm(alone)))
        each = np.abs(new - centres[label]) / np.maximum(np.sqrt(squares), alone)
        furthest = float(each.max()) / self.tolerance
        return Match(alike[nearest_one], _distance(new, centres[label]), radius, furthest)

    def new_job(self) -> GroundTruthJob:
        """Add a job without knowledge, and return it."""
        self.jobs.append(GroundTruthJob(self.machine))
        return self.jobs[-1]

    def _labels(self, rows: FloatArray) -> FloatArray:
        different = len(np.unique(rows, axis=0))
        if different == 1:
            return np.zeros(len(rows))
        if self.clusters is not None or "n_clusters" not in self._clusterer().get_params():
            return self._clustered(rows, min(self.clusters or 0, different))
        tried = [
            self._clustered(rows, count)
            for count in range(2, min(_MOST_CLUSTERS, different - 1, len(rows) - 1) + 1)
        ]
        tried = [labels for labels in tried if 1 < len(set(labels.tolist())) < len(rows)]
        if not tried:
            return np.zeros(len(rows))
        return max(tried, key=lambda labels: float(silhouette_score(rows, labels)))

    def _clustered(self, rows: FloatArray, count: int) -> FloatArray:
        model = self._clusterer()
        wanted = {"n_clusters": count, "n_init": _RESTARTS, "random_state": 0}
        model.set_params(**{name: wanted[name] for name in wanted if name in model.get_params()})
        with threadpool_limits(1):  # few rows, beside a training
            labels: FloatArray = np.asarray(model.fit_predict(rows))
        # Each noise point (-1) of density-based clusterers is a cluster of its own.
        alone = labels < 0
        labels[alone] = labels.max() + 1 + np.arange(alone.sum())
        return labels


def _clusterer(name: str) -> type[ClusterMixin]:
    every = {one: getattr(sklearn.cluster, one) for one in sklearn.cluster.__all__}
    known = {
        one: found
        for one, found in every.items()
        if isinstance(found, type) and issubclass(found, ClusterMixin)
    }
    if name not in known:
        hint = nearest(name, known)
        raise UserError(
            f"clusterer: {name!r} given; {hint}expected one of scikit-learn's: {', '.join(known)}"
        )
    return known[name]


def _logarithms(counts: Mapping[str, float], names: Sequence[str]) -> list[float]:
    if wrong := [name for name in names if not counts[name] >= 0]:
        raise ValueError(f"{wrong[0]}: {counts[wrong[0]]} of an epoch, expected at least 0")
    return [math.log(counts[name] + _FEW) for name in names]


def _distance(left: FloatArray, right: FloatArray) -> float:
    return float(np.linalg.norm(left - right))
