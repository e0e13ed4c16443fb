"""Clusters of jobs by scikit-learn, whose import takes a second: import this to compare jobs."""

import numpy as np
import sklearn.cluster
from sklearn.base import ClusterMixin
from sklearn.metrics import silhouette_score
from threadpoolctl import threadpool_limits

from trimtab.config.validate import nearest
from trimtab.errors import UserError

_MOST_CLUSTERS = 8
_RESTARTS = 10  # of k-means, from other initial centres
FloatArray = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def find_clusterer(name: str) -> type[ClusterMixin]:
    """Return scikit-learn's class of this name; raises UserError if it is no clusterer."""
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


def cluster_rows(rows: FloatArray, clusterer: str, clusters: int | None) -> FloatArray:
    """Return the cluster's number of each row.

    `clusters` is their number, if the clusterer takes one; None chooses it by the mean silhouette.
    """
    kind = find_clusterer(clusterer)
    different = len(np.unique(rows, axis=0))
    if different == 1:
        return np.zeros(len(rows))
    if clusters is not None or "n_clusters" not in kind().get_params():
        return _clustered(kind, rows, min(clusters or 0, different))
    tried = [
        _clustered(kind, rows, count)
        for count in range(2, min(_MOST_CLUSTERS, different - 1, len(rows) - 1) + 1)
    ]
    tried = [labels for labels in tried if 1 < len(set(labels.tolist())) < len(rows)]
    if not tried:
        return np.zeros(len(rows))
    return max(tried, key=lambda labels: float(silhouette_score(rows, labels)))


def _clustered(kind: type[ClusterMixin], rows: FloatArray, count: int) -> FloatArray:
    model = kind()
    wanted = {"n_clusters": count, "n_init": _RESTARTS, "random_state": 0}
    model.set_params(**{name: wanted[name] for name in wanted if name in model.get_params()})
    with threadpool_limits(1):  # few rows, beside a training
        labels: FloatArray = np.asarray(model.fit_predict(rows))
    # Each noise point (-1) of density-based clusterers is a cluster of its own.
    alone = labels < 0
    labels[alone] = labels.max() + 1 + np.arange(alone.sum())
    return labels
