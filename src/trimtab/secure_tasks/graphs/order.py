"""Topological order of a graph's tasks, and its longest paths."""

import numpy as np
from numpy.typing import NDArray

from trimtab.clusters.compiled import compiled


@compiled
def topological_order(
    first_successor: NDArray[np.int64],
    successors: NDArray[np.int64],
    predecessor_counts: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the tasks in topological order (Kahn), without those on or after a cycle."""
    waiting = predecessor_counts.copy()
    order = np.empty(len(waiting), np.int64)
    found = 0
    for task in range(len(waiting)):
        if waiting[task] == 0:
            order[found] = task
            found += 1
    done = 0
    while done < found:
        task = order[done]
        done += 1
        for at in range(first_successor[task], first_successor[task + 1]):
            successor = successors[at]
            waiting[successor] -= 1
            if waiting[successor] == 0:
                order[found] = successor
                found += 1
    return order[:found]


@compiled
def path_to_end_s(
    first_successor: NDArray[np.int64],
    successors: NDArray[np.int64],
    order: NDArray[np.int64],
    cost_s: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return for each task the longest sum of `cost_s` from its start to the end of the graph.

    The largest is the critical path; `order` is from `topological_order`.
    """
    path_s = np.zeros(len(cost_s))
    for back in range(len(order)):
        task = order[len(order) - 1 - back]
        longest_s = 0.0
        for at in range(first_successor[task], first_successor[task + 1]):
            longest_s = max(longest_s, path_s[successors[at]])
        path_s[task] = longest_s + cost_s[task]
    return path_s
