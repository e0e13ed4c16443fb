"""What a trace asks of a cluster, against what the cluster can give."""

import numpy as np

from trimtab.simulation.arrivals import Arrivals
from trimtab.simulation.kernel.model import class_tables


def offered_load(arrivals: Arrivals, level: int = -1) -> float | None:
    """Return the load of what has arrived, 1 the cluster's capacity; None where no time passed.

    A job's part is its work on its cores over what all nodes together do for its class at `level`
    (negative: counted from the highest). Above 1 the queue grows without end, however well jobs
    are placed; it does so below 1 too, where cores stay free because no job fits them.
    """
    cluster = arrivals.cluster
    span_s = arrivals.last_arrival_s - arrivals.first_arrival_s
    if not span_s > 0:
        return None
    paces, _ = class_tables(cluster, arrivals.job_classes)
    counts = [len(node_type.levels) for node_type in cluster.node_types]
    levels = [level + count if level < 0 else level for count in counts]
    speed = paces["speed"][:, np.arange(len(levels)), levels]
    cores = [node_type.cpu_milli for node_type in cluster.node_types]
    capacity = speed @ (np.array(cores) * cluster.counts)
    return float(np.sum(arrivals.work_by_class / capacity)) / span_s
