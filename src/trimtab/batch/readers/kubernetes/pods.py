"""Pods, and gangs of pods that start together, as jobs.

A gang is the pods of a PodGroup (Volcano, or the coscheduling plugin) or of a pod group of Kueue,
or of a Job that runs all of its pods at once.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trimtab.batch.readers.kubernetes.demands import Demand, demand_of
from trimtab.batch.readers.kubernetes.parts import (
    NEVER_STARTED,
    STILL_RUNNING,
    Job,
    earliest,
    equal_parts,
    first_value,
    image_of,
    latest,
    time_s,
)

_GROUP_KEYS = (
    "scheduling.k8s.io/group-name",
    "scheduling.volcano.sh/group-name",
    "scheduling.x-k8s.io/pod-group",
    "kueue.x-k8s.io/pod-group-name",
)
_QUEUE_KEYS = (
    "kueue.x-k8s.io/queue-name",
    "scheduling.volcano.sh/queue-name",
    "volcano.sh/queue-name",
)
_OF_NODES = ("DaemonSet", "Node")


class Pod(NamedTuple):
    """A pod, and its owner's kind and name; times in s since 1970, NaN if unknown."""

    namespace: str
    name: str
    owner: tuple[str, str]
    group: str
    phase: str
    created_s: float
    started_s: float
    ended_s: float
    deadline_s: float
    demand: Demand
    queue: str
    priority: float
    image: str


class Gangs(NamedTuple):
    """What other objects say of gangs, by namespace and name.

    `least` is the number of pods of a PodGroup that start together; `parallel` that of a Job's.
    """

    least: Mapping[tuple[str, str], float]
    parallel: Mapping[tuple[str, str], float]


def pod_of(item: Mapping[str, Any]) -> Pod:
    """Return a pod of the API; raises LookupError, TypeError, ValueError, AttributeError."""
    metadata, spec, status = item["metadata"], item["spec"], item.get("status") or {}
    marks = {**(metadata.get("labels") or {}), **(metadata.get("annotations") or {})}
    ends = [state["terminated"] for state in _states(status) if "terminated" in state]
    begins = [*ends, *(state["running"] for state in _states(status) if "running" in state)]
    started_s = time_s(status.get("startTime"))
    if math.isnan(started_s):
        started_s = earliest(time_s(each.get("startedAt")) for each in begins)
    owner: Mapping[str, Any] = next(
        (owner for owner in metadata.get("ownerReferences") or () if owner.get("controller")), {}
    )
    return Pod(
        namespace=str(metadata.get("namespace", "default")),
        name=str(metadata["name"]),
        owner=(str(owner.get("kind", "")), str(owner.get("name", ""))),
        group=first_value(marks, _GROUP_KEYS),
        phase=str(status.get("phase", "")),
        created_s=time_s(metadata.get("creationTimestamp")),
        started_s=started_s,
        ended_s=latest(time_s(each.get("finishedAt")) for each in ends),
        deadline_s=float(spec.get("activeDeadlineSeconds") or math.nan),
        demand=demand_of(spec),
        queue=first_value(marks, _QUEUE_KEYS),
        priority=float(spec.get("priority") or 0),
        image=image_of(spec),
    )


def jobs_of(
    pods: Sequence[Pod], gangs: Gangs, skipped: Counter[str], remarks: Counter[str]
) -> Iterator[Job]:
    """Yield a job for each gang, and for each pod in none."""
    together: dict[tuple[str, ...], list[Pod]] = defaultdict(list)
    for pod in pods:
        together[_gang(pod, gangs)].append(pod)
    for gang in together.values():
        if gang[0].owner[0] in _OF_NODES:
            skipped["pods of a DaemonSet or a node"] += len(gang)
        elif any(pod.phase in ("Running", "Unknown") for pod in gang):
            skipped[STILL_RUNNING] += 1
        elif any(math.isnan(pod.started_s) or pod.phase == "Pending" for pod in gang):
            skipped[NEVER_STARTED] += 1
        else:
            yield _job(gang, gangs, remarks)


def _gang(pod: Pod, gangs: Gangs) -> tuple[str, ...]:
    """Return what the pods of a gang have in common."""
    kind, owner = pod.owner
    if pod.group and gangs.least.get((pod.namespace, pod.group), 2) > 1:
        return "group", pod.namespace, pod.group
    if kind == "Job" and (pod.namespace, owner) in gangs.parallel:
        return "Job", pod.namespace, owner
    return "Pod", pod.namespace, pod.name


def _job(gang: list[Pod], gangs: Gangs, remarks: Counter[str]) -> Job:
    first = gang[0]
    kind, namespace, name = _gang(first, gangs)
    demand, parts = equal_parts([(pod.demand, 1.0) for pod in gang], remarks)
    if kind == "Job":
        # Further pods took the place of failed ones.
        parts = min(parts, gangs.parallel[namespace, name])
    start_s = earliest(pod.started_s for pod in gang)
    return Job(
        name=f"{namespace}/{name}",
        submit_s=earliest(pod.created_s for pod in gang),
        start_s=start_s,
        run_s=latest(pod.ended_s for pod in gang) - start_s,
        estimate_s=latest(pod.deadline_s for pod in gang),
        parts=parts,
        cpu_milli=demand.cpu_milli,
        gpu_milli=demand.gpu_milli,
        memory_bytes=demand.memory_bytes,
        gpu_type=demand.gpu_type,
        user=namespace,
        queue=next((pod.queue for pod in gang if pod.queue), ""),
        priority=first.priority,
        image=max(gang, key=lambda pod: pod.demand.gpu_milli).image,
    )


def _states(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [each.get("state") or {} for each in status.get("containerStatuses") or ()]
