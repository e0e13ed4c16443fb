"""A scheduler for Kubernetes that places pods by a policy such as HEATS.

It takes the pods with its `schedulerName`, oldest first, asks the policy for a node, and binds
them. A pod that fits nowhere stays in the queue and blocks no other (Rocha's thesis, section 3.2,
algorithm 2). Running pods are not moved: a pod's controller owns it.

Tested against objects of the API through the real client over HTTP; not on a real cluster. For use
from Python (docs/how-to/kubernetes-scheduler.md).
"""

import importlib
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import Any

from trimtab.errors import TrimtabError, UserError
from trimtab.execution.kubernetes import objects
from trimtab.execution.kubernetes.objects import Amounts
from trimtab.installation import how_to_add
from trimtab.policies.base import NodeState, PendingTask, Policy

SCHEDULER_NAME = "trimtab-heats"
NODE_TYPE_LABEL = "trimtab.dev/hardware"
JOB_CLASS_LABEL = "trimtab.dev/job-class"
_CONFLICT, _NOT_FOUND, _GONE = 409, 404, 410


def connect(kubeconfig: Path | None = None) -> Any:
    """Return the client's CoreV1Api for the cluster of `kubeconfig`.

    By default, a pod uses its service account, and other processes the default file. Raises
    UserError where the client or the configuration is missing.
    """
    client, config = _module("client"), _module("config")
    try:
        if kubeconfig is None and "KUBERNETES_SERVICE_HOST" in os.environ:
            config.load_incluster_config()
        else:
            config.load_kube_config(config_file=None if kubeconfig is None else str(kubeconfig))
    except (config.ConfigException, OSError) as error:
        raise UserError(f"kubernetes: no configuration of a cluster: {error}") from None
    return client.CoreV1Api()


@dataclass(frozen=True)
class Bound:
    """A pod bound to a node."""

    namespace: str
    pod: str
    node: str


@dataclass
class _FreeNode:
    """A node as the policy sees it, and its currently free resources."""

    node: Any
    number: int
    node_type: int
    capacity: Amounts
    free: Amounts
    pods_left: float

    def state(self, pod: Any) -> NodeState:
        cpu_milli, _, memory_bytes = self.capacity[:3].tolist()
        free_cpu_milli, free_gpu_milli, free_memory_bytes = self.free[:3].tolist()
        return NodeState(
            self.number,
            self.node_type,
            cpu_milli,
            memory_bytes,
            free_cpu_milli,
            free_gpu_milli,
            free_memory_bytes,
            objects.has_images(self.node, pod),
        )


class KubernetesScheduler:
    """Binds pending pods by `policy`, whose arrays follow `node_types` and `job_classes`.

    `api` is the client's CoreV1Api. A node's type is its label `trimtab.dev/hardware`; nodes
    without one, or of another type, get no pods. A pod's class is its label
    `trimtab.dev/job-class`; pods of unknown classes wait, and `unknown` names them. `protected_on`
    has, for each secure class, the node types with an enclave that its pods fit; they run on no
    others.
    """

    def __init__(
        self,
        api: Any,
        policy: Policy,
        *,
        node_types: Sequence[str],
        job_classes: Sequence[str],
        scheduler_name: str = SCHEDULER_NAME,
        protected_on: Mapping[str, Collection[str]] = MappingProxyType({}),
    ) -> None:
        self._api, self._policy = api, policy
        unknown = {*protected_on} - {*job_classes} or {
            name for names in protected_on.values() for name in names if name not in node_types
        }
        if unknown:
            raise UserError(
                f"kubernetes: protected_on: {', '.join(sorted(unknown))} given, expected job "
                f"classes, {', '.join(job_classes)}, and node types, {', '.join(node_types)}"
            )
        self._fitting = {
            job_classes.index(name): {node_types.index(kind) for kind in kinds}
            for name, kinds in protected_on.items()
        }
        self._types = {name: index for index, name in enumerate(node_types)}
        self._classes = {name: index for index, name in enumerate(job_classes)}
        self._name = scheduler_name
        self._jobs: dict[str, int] = {}
        self._next_job = 0
        self._listed_at = ""
        self.unknown: list[str] = []

    def schedule(self) -> list[Bound]:
        """Try every pending pod once, oldest first, and return those that were bound.

        Raises TrimtabError when the API server refuses, unless a pod has changed or gone meanwhile.
        """
        listed = self._api.list_pod_for_all_namespaces()
        self._listed_at = listed.metadata.resource_version
        waiting = [pod for pod in listed.items if objects.waits(pod, self._name)]
        devices = objects.devices_asked(waiting)
        places = self._places(self._api.list_node().items, listed.items, devices)
        waiting.sort(key=lambda pod: (pod.metadata.creation_timestamp, pod.metadata.uid))
        self._number(waiting)
        self.unknown = []
        bound = []
        for pod in waiting:
            task = self._task(pod)
            if task is None:
                self.unknown.append(f"{pod.metadata.namespace}/{pod.metadata.name}")
                continue
            asked = objects.requested(pod, devices)
            fitting = {
                place.number: place
                for place in places
                if place.pods_left >= 1
                and objects.accepts(place.node, pod)
                and place.node_type in self._fitting.get(task.job_class, {place.node_type})
                and place.state(pod).has_room(task)
                and bool((asked[3:] <= place.free[3:]).all())
            }
            states = [place.state(pod) for place in fitting.values()]
            placement = self._policy.place(task, states) if states else None
            if placement is None:
                continue
            place = fitting[placement.node]
            if self._bind(pod, place.node):
                place.free = place.free - asked
                place.pods_left -= 1
                bound.append(
                    Bound(pod.metadata.namespace, pod.metadata.name, place.node.metadata.name)
                )
        return bound

    def run(self, stop: Event, *, retry_s: int = 30) -> None:
        """Schedule on each change of a pod, and at least every `retry_s`, until `stop` is set."""
        while not stop.is_set():
            self.schedule()
            self._await_change(retry_s)

    def _places(
        self, nodes: Sequence[Any], pods: Sequence[Any], devices: Sequence[str]
    ) -> list[_FreeNode]:
        on_node: dict[str, list[Any]] = {}
        for pod in pods:
            if objects.takes_part(pod):
                on_node.setdefault(pod.spec.node_name, []).append(pod)
        places = []
        for number, node in enumerate(sorted(nodes, key=lambda node: str(node.metadata.name))):
            node_type = self._types.get((node.metadata.labels or {}).get(NODE_TYPE_LABEL, ""))
            if node_type is None:
                continue
            capacity = objects.allocatable(node, devices)
            there = on_node.get(node.metadata.name, [])
            free = capacity - sum(objects.requested(pod, devices) for pod in there)
            left = objects.most_pods(node) - len(there)
            places.append(_FreeNode(node, number, node_type, capacity, free, left))
        return places

    def _number(self, waiting: Sequence[Any]) -> None:
        """Number new jobs, and forget those that no longer wait."""
        known, self._jobs = self._jobs, {}
        for pod in waiting:
            number = known.get(pod.metadata.uid)
            if number is None:
                number, self._next_job = self._next_job, self._next_job + 1
            self._jobs[pod.metadata.uid] = number

    def _task(self, pod: Any) -> PendingTask | None:
        labels: Mapping[str, str] = pod.metadata.labels or {}
        job_class = self._classes.get(labels.get(JOB_CLASS_LABEL, ""))
        if job_class is None:
            return None
        job, priority = self._jobs[pod.metadata.uid], pod.spec.priority or 0
        return PendingTask(job, job_class, priority, *objects.requested(pod).tolist())

    def _bind(self, pod: Any, node: Any) -> bool:
        """Bind the pod; return False if it was deleted or bound by another meanwhile."""
        client = _module("client")
        name, namespace = pod.metadata.name, pod.metadata.namespace
        binding = client.V1Binding(
            api_version="v1",
            kind="Binding",
            metadata=client.V1ObjectMeta(name=name, namespace=namespace, uid=pod.metadata.uid),
            target=client.V1ObjectReference(api_version="v1", kind="Node", name=node.metadata.name),
        )
        try:
            # The server answers with a Status, which the client cannot read as a binding.
            self._api.create_namespaced_pod_binding(
                name, namespace, binding, _preload_content=False
            )
        except client.ApiException as error:
            if error.status in (_CONFLICT, _NOT_FOUND):
                return False
            raise TrimtabError(
                f"kubernetes: binding {namespace}/{name} to {node.metadata.name}: "
                f"{error.status} {error.reason}"
            ) from None
        return True

    def _await_change(self, retry_s: int) -> None:
        """Wait for `retry_s`, or until a pod has come, changed or gone since the last listing."""
        client, watch = _module("client"), _module("watch").Watch()
        try:
            for _ in watch.stream(
                self._api.list_pod_for_all_namespaces,
                resource_version=self._listed_at,
                timeout_seconds=retry_s,
            ):
                return
        except client.ApiException as error:
            if error.status != _GONE:  # the version is too old: the next pass lists anew
                raise TrimtabError(
                    f"kubernetes: watching pods: {error.status} {error.reason}"
                ) from None
        finally:
            watch.stop()


def _module(name: str) -> Any:
    try:
        return importlib.import_module(f"kubernetes.{name}")
    except ModuleNotFoundError:
        raise UserError(
            f"the Kubernetes client is not installed: {how_to_add('kubernetes')}"
        ) from None
