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

from trimtab.records.tuning.ground_truth import EventProfile, KnownJob, RelativeCost
from trimtab.tuning.system.system_tuner import Settings

PUBLISHED_CLUSTERER = "KMeans"
PUBLISHED_CLUSTERS = 2
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
        clusterer: str = PUBLISHED_CLUSTERER,
        clusters: int | None = PUBLISHED_CLUSTERS,
        tolerance: float = 2.0,
    ) -> None:
        if clusterer != PUBLISHED_CLUSTERER:
            from trimtab.tuning.system.clustering import find_clusterer

            find_clusterer(clusterer)
        self.machine, self.tolerance = machine, tolerance
        self.clusterer, self.clusters = clusterer, clusters
        self.jobs = [GroundTruthJob.known(job) for job in jobs if job.machine == machine]

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
        from trimtab.tuning.system.clustering import cluster_rows

        rows = np.array([_logarithms(job.profiles[key].counts, names) for job in alike])
        noise = np.array([_MUCH_NOISE.get(name, _NOISE) for name in names])
        mean, scale = rows.mean(axis=0), np.maximum(rows.std(axis=0), noise)
        known, new = (rows - mean) / scale, (_logarithms(counts, names) - mean) / scale
        labels = cluster_rows(known, self.clusterer, self.clusters)
        centres = {label: known[labels == label].mean(axis=0) for label in set(labels.tolist())}
        label = min(centres, key=lambda one: _distance(new, centres[one]))
        members = [number for number in range(len(alike)) if labels[number] == label]
        squares = np.mean((known[members] - centres[label]) ** 2, axis=0)
        nearest_one = min(members, key=lambda number: _distance(new, known[number]))
        # A cluster of one job has no spread: the spread within a search replaces it.
        alone = noise / scale
        radius = self.tolerance * max(math.sqrt(squares.sum()), float(np.linalg.norm(alone)))
        each = np.abs(new - centres[label]) / np.maximum(np.sqrt(squares), alone)
        furthest = float(each.max()) / self.tolerance
        return Match(alike[nearest_one], _distance(new, centres[label]), radius, furthest)

    def new_job(self) -> GroundTruthJob:
        """Add a job without knowledge, and return it."""
        self.jobs.append(GroundTruthJob(self.machine))
        return self.jobs[-1]


def _logarithms(counts: Mapping[str, float], names: Sequence[str]) -> FloatArray:
    if wrong := [name for name in names if not counts[name] >= 0]:
        raise ValueError(f"{wrong[0]}: {counts[wrong[0]]} of an epoch, expected at least 0")
    return np.array([math.log(counts[name] + _FEW) for name in names])


def _distance(left: FloatArray, right: FloatArray) -> float:
    return float(np.linalg.norm(left - right))
