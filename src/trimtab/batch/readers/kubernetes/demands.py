"""What pods ask for.

A pod's demand is that of its containers together, or of an init container where that is larger;
init containers that restart always (sidecars) run beside the others. See "Resource sharing within
containers" of https://kubernetes.io/docs/concepts/workloads/pods/init-containers/.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from trimtab.batch.readers.gpu_models import gpu_model, slice_share
from trimtab.batch.readers.kubernetes.quantities import quantity

_GPUS = ("nvidia.com/gpu", "amd.com/gpu")
_SLICES = "nvidia.com/mig-"
GPU_LABELS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "k8s.amazonaws.com/accelerator",
)


class Demand(NamedTuple):
    """The demand of one pod; `gpu_type` is empty for any."""

    cpu_milli: float = 0.0
    gpu_milli: float = 0.0
    memory_bytes: float = 0.0
    gpu_type: str = ""


def demand_of(spec: Mapping[str, Any]) -> Demand:
    """Return the demand of a pod's `spec`; raises ValueError for a quantity that is none."""
    sidecars, largest = Demand(), Demand()
    for container in spec.get("initContainers") or ():
        own = _requests(container)
        if container.get("restartPolicy") == "Always":
            sidecars = _sum([sidecars, own])
            largest = largest_of([largest, sidecars])
        else:
            largest = largest_of([largest, _sum([sidecars, own])])
    together = _sum([sidecars, *map(_requests, spec.get("containers") or ())])
    needed = _sum([largest_of([largest, together]), amounts_of(spec.get("overhead") or {})])
    selector = spec.get("nodeSelector") or {}
    models = [gpu_model(str(selector[label])) for label in GPU_LABELS if label in selector]
    return needed._replace(gpu_type=models[0] if models and needed.gpu_milli else "")


def largest_of(demands: Iterable[Demand]) -> Demand:
    """Return the largest demand of each resource, of a type if all have that one."""
    rows = list(demands)
    types = {row.gpu_type for row in rows}
    return Demand(
        max(row.cpu_milli for row in rows),
        max(row.gpu_milli for row in rows),
        max(row.memory_bytes for row in rows),
        types.pop() if len(types) == 1 else "",
    )


def _sum(demands: Iterable[Demand]) -> Demand:
    rows = list(demands)
    return Demand(
        sum(row.cpu_milli for row in rows),
        sum(row.gpu_milli for row in rows),
        sum(row.memory_bytes for row in rows),
    )


def _requests(container: Mapping[str, Any]) -> Demand:
    """Return the requests of a container; a limit without a request is one."""
    resources = container.get("resources") or {}
    return amounts_of({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def amounts_of(amounts: Mapping[str, Any]) -> Demand:
    """Return amounts of resources, by Kubernetes' names; ValueError for one that is none."""
    gpu_milli = 0.0
    for name, amount in amounts.items():
        if name in _GPUS:
            gpu_milli += quantity(amount) * 1000
        elif name.startswith(_SLICES):
            share = slice_share(name.removeprefix(_SLICES)) or 0.0
            gpu_milli += quantity(amount) * share * 1000
    return Demand(
        quantity(amounts.get("cpu", 0)) * 1000, gpu_milli, quantity(amounts.get("memory", 0))
    )
