"""Resources and constraints of pods and nodes, from the client's `V1Pod` and `V1Node`.

Kubernetes API, core/v1. Amounts are thousandths of cores and of GPUs, and bytes; requests are
rounded up, capacities down.
"""

import importlib
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

GPU = "nvidia.com/gpu"
_ENDED = ("Succeeded", "Failed")
_REPELS = ("NoSchedule", "NoExecute")


Amounts = NDArray[np.int64]  # CPU, GPU, memory, and each device, (3 + devices,)


def amounts(
    quantities: dict[str, str] | None,
    rounding: str = ROUND_CEILING,
    devices: Sequence[str] = (),
) -> Amounts:
    """Return resource quantities such as {"cpu": "500m", "memory": "1Gi"} as numbers.

    `devices` are names of further resources to count, in their own units. Raises ValueError for an
    invalid quantity.
    """
    # Imported here, as scheduling elsewhere does not need the client.
    quantity_of = importlib.import_module("kubernetes.utils.quantity").parse_quantity

    def number(resource: str, per_unit: int) -> int:
        quantity = Decimal(quantity_of((quantities or {}).get(resource, "0")))
        return int((quantity * per_unit).to_integral_value(rounding))

    others = [number(name, 1) for name in devices]
    return np.array(
        [number("cpu", 1000), number(GPU, 1000), number("memory", 1), *others], np.int64
    )


def devices_asked(pods: Iterable[Any]) -> list[str]:
    """Return the names of device plug-in resources that `pods` request, except GPUs.

    Intel's plug-in for SGX has `sgx.intel.com/epc`, bytes of page cache.
    """
    found: set[str] = set()
    for pod in pods:
        for container in [*(pod.spec.init_containers or []), *pod.spec.containers]:
            requests = container.resources.requests if container.resources else None
            found.update(name for name in requests or {} if "/" in name and name != GPU)
    return sorted(found)


def requested(pod: Any, devices: Sequence[str] = ()) -> Amounts:
    """Return the request of `pod`, as the default scheduler counts it.

    This is the larger of two sums: all containers and sidecars (init containers that always
    restart), or the largest init container with the sidecars started before it. The overhead is
    added (Kubernetes' documentation, "Sidecar Containers", "Resource sharing within containers").
    """
    sidecars = starting = amounts(None, devices=devices)
    for container in pod.spec.init_containers or []:
        own = _asked(container, devices)
        if getattr(container, "restart_policy", None) == "Always":
            sidecars = sidecars + own
            starting = np.maximum(starting, sidecars)
        else:
            starting = np.maximum(starting, sidecars + own)
    running = sum((_asked(container, devices) for container in pod.spec.containers), sidecars)
    overhead = amounts(getattr(pod.spec, "overhead", None), devices=devices)
    return np.maximum(running, starting) + overhead


def allocatable(node: Any, devices: Sequence[str] = ()) -> Amounts:
    """Return the resources of `node` for pods."""
    return amounts(node.status.allocatable, ROUND_FLOOR, devices)


def most_pods(node: Any) -> float:
    """Return the largest number of pods on `node`."""
    return float((node.status.allocatable or {}).get("pods", inf))


def takes_part(pod: Any) -> bool:
    """Return whether `pod` holds its requested resources on its node."""
    return bool(pod.spec.node_name) and pod.status.phase not in _ENDED


def waits(pod: Any, scheduler: str) -> bool:
    """Return whether `pod` waits for `scheduler` to give it a node."""
    return (
        pod.spec.scheduler_name == scheduler
        and not pod.spec.node_name
        and pod.status.phase == "Pending"
        and pod.metadata.deletion_timestamp is None
        and not getattr(pod.spec, "scheduling_gates", None)
    )


def accepts(node: Any, pod: Any) -> bool:
    """Return whether `node` is ready and its labels and taints allow `pod`."""
    conditions = {one.type: one.status for one in node.status.conditions or []}
    labels = node.metadata.labels or {}
    wanted = pod.spec.node_selector or {}
    repelling = [taint for taint in node.spec.taints or [] if taint.effect in _REPELS]
    tolerations = pod.spec.tolerations or []
    return (
        conditions.get("Ready") == "True"
        and not node.spec.unschedulable
        and all(labels.get(key) == value for key, value in wanted.items())
        and all(_tolerated(taint, tolerations) for taint in repelling)
    )


def has_images(node: Any, pod: Any) -> bool:
    """Return whether `node` reports the images of all containers of `pod`."""
    held = {name for image in node.status.images or [] for name in image.names or []}
    return all(container.image in held for container in pod.spec.containers)


def _asked(container: Any, devices: Sequence[str]) -> Amounts:
    resources = container.resources
    return amounts(resources.requests if resources else None, devices=devices)


def _tolerated(taint: Any, tolerations: Iterable[Any]) -> bool:
    """See Kubernetes' documentation, "Taints and Tolerations"."""
    return any(
        (not one.effect or one.effect == taint.effect)
        and (one.key == taint.key or (not one.key and one.operator == "Exists"))
        and (one.operator == "Exists" or (one.value or "") == (taint.value or ""))
        for one in tolerations
    )
