"""A cluster's nodes: those that take pods, by size and GPU."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trimtab.batch.nodes import MOST_GPUS, node_of_size
from trimtab.batch.readers.gpu_models import gpu_model
from trimtab.batch.readers.kubernetes.demands import GPU_LABELS, amounts_of
from trimtab.clusters.cluster import Cluster
from trimtab.clusters.hardware_types import GIB

_CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


class Node(NamedTuple):
    """What pods can have of a node; `gpu_type` is empty where no label says it."""

    cpu_milli: int
    memory_bytes: int
    gpus: int
    gpu_type: str

    @property
    def name(self) -> str:
        """The name of nodes of this size, as `--nodes` has it, behind the type of their GPUs."""
        gpus = f"{self.gpus}gpu" if self.gpus else ""
        size = f"{self.cpu_milli // 1000}c{self.memory_bytes // GIB}g{gpus}"
        return f"{self.gpu_type}_{size}" if self.gpu_type and self.gpus else size


def node_of(item: Mapping[str, Any], remarks: Counter[str]) -> Node | None:
    """Return a node; None for one that takes no pods, or has no size, with a remark."""
    spec, status = item.get("spec") or {}, item.get("status") or {}
    taints = spec.get("taints") or ()
    if spec.get("unschedulable") or any(each.get("key") in _CONTROL_PLANE for each in taints):
        remarks["nodes that take no pods, left out"] += 1
        return None
    amounts = amounts_of(status.get("allocatable") or status.get("capacity") or {})
    labels = (item.get("metadata") or {}).get("labels") or {}
    models = [gpu_model(str(labels[label])) for label in GPU_LABELS if label in labels]
    gpus = round(amounts.gpu_milli / 1000)
    node = Node(
        int(amounts.cpu_milli), int(amounts.memory_bytes), gpus, models[0] if models else ""
    )
    if min(node.cpu_milli, node.memory_bytes) <= 0 or not 0 <= gpus <= MOST_GPUS:
        remarks[f"nodes without cpu or memory, or of more than {MOST_GPUS} GPUs, left out"] += 1
        return None
    return node


def cluster_of(nodes: Iterable[Node | None]) -> Cluster | None:
    """Return the cluster, the most frequent nodes first; None without a node.

    Nodes whose sizes differ by less than a core and a GiB are of one type, with the least of each.
    """
    by_name: dict[str, list[Node]] = {}
    for node in nodes:
        if node is not None:
            by_name.setdefault(node.name, []).append(node)
    if not by_name:
        return None
    ranked = sorted(by_name.items(), key=lambda each: (-len(each[1]), each[0]))
    types = tuple(
        node_of_size(
            name,
            min(each.cpu_milli for each in group),
            min(each.memory_bytes for each in group),
            group[0].gpus,
        )
        for name, group in ranked
    )
    return Cluster(types, tuple(len(group) for _, group in ranked))
