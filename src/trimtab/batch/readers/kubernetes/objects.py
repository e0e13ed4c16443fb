"""Objects of Kubernetes as JSON.

kubectl get nodes,pods,jobs -A -o json
kubectl get nodes,pods,jobs,workloads.kueue.x-k8s.io,podgroups.scheduling.volcano.sh -A -o json
"""

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from trimtab.batch.readers.head import Head
from trimtab.batch.readers.jobs import FoundJobs, joined
from trimtab.batch.readers.kubernetes.nodes import cluster_of, node_of
from trimtab.batch.readers.kubernetes.parts import Job
from trimtab.batch.readers.kubernetes.pods import Gangs, jobs_of, pod_of
from trimtab.batch.readers.kubernetes.workloads import job_of
from trimtab.errors import UserError
from trimtab.files import parse_json
from trimtab.traces.text_file import open_text

COMMAND = "kubectl get nodes,pods,jobs -A -o json"
_EXPECTED = f"the output of: {COMMAND}"
_MOST_BYTES = 1 << 28  # about 30,000 pods, and 2 GB of memory
_DAMAGED = (LookupError, TypeError, ValueError, AttributeError, OverflowError)
_MOST_OWNERS = 8
_KINDS = {"Node", "Pod", "Job", "Workload", "PodGroup"}
_GROUPS = {"Job": ["batch"], "Workload": ["kueue.x-k8s.io"]}
T = TypeVar("T")


def read(path: Path, head: Head) -> FoundJobs:
    """Return the pods that ran and ended, gangs as one job, and Kueue's finished workloads.

    A pod arrives at its creation and holds its node from its startTime to the end of its last
    container; so does a gang, from its first start to its last end. A workload arrives at its
    creation and runs from admission to its end; its pods are left out. The user is the namespace. A
    pod without requests asks for a thousandth of a core. The cluster is that of the nodes, if there
    are any. Other objects are left out with a remark. Raises UserError with the object and what is
    wrong with it.
    """
    skipped, remarks = Counter[str](), Counter[str]()
    by_kind: dict[str, list[_Item]] = defaultdict(list)
    for item in _items(path):
        by_kind[item.kind].append(item)
    if not by_kind["Pod"] and not by_kind["Workload"]:
        found = ", ".join(f"{len(items)} {kind}" for kind, items in by_kind.items() if items)
        raise UserError(
            f"{path}: holds no pod ({found[:200] or 'no object'}); expected {_EXPECTED}"
        )
    jobs = [item.read(lambda item: job_of(item, skipped, remarks)) for item in by_kind["Workload"]]
    pods = [item.read(pod_of) for item in _unclaimed(by_kind)]
    jobs += jobs_of(pods, _gangs(by_kind), skipped, remarks)
    rows = [[_utf8(value) for value in job] for job in jobs if job is not None]
    frame = joined(path, [pd.DataFrame(rows, columns=Job._fields)])
    frame["cpu_milli"] = frame["cpu_milli"].clip(lower=1)
    nodes = (item.read(lambda item: node_of(item, remarks)) for item in by_kind["Node"])
    cluster = cluster_of(nodes)
    for kind, items in by_kind.items():
        if kind not in _KINDS and items:
            remarks[f"objects of the kind {kind[:40]}, left out"] += len(items)
    said = [f"{what}: {count:,}" for what, count in remarks.items() if count]
    return FoundJobs(frame, skipped, said, cluster)


class _Item:
    """An object: `owners` are the uids of what owns it, `uid` is its own, which may be empty."""

    def __init__(self, path: Path, number: int, item: Any, kind: str) -> None:
        self._path, self._number, self._item = path, number, item
        self.kind = kind
        if not isinstance(item, dict):
            raise UserError(f"{path}: item {number}: {type(item).__name__}; expected {_EXPECTED}")
        self.kind = self.read(_kind) or kind
        self.uid, self.owners = self.read(_uids)

    def read(self, function: Callable[[Mapping[str, Any]], T]) -> T:
        """Return what a function makes of the object; UserError names it, and what is wrong."""
        try:
            return function(self._item)
        except _DAMAGED as error:
            what = f"{type(error).__name__} {error}"[:200]
            where = f"{self._path}: item {self._number}, a {self.kind[:40]}"
            raise UserError(f"{where}: {what}; expected {_EXPECTED}") from None


def _items(path: Path) -> Iterator[_Item]:
    """Yield the objects of a list, or the one object of the file."""
    try:
        with open_text(path, _MOST_BYTES) as file:
            text = file.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError(f"larger than {_MOST_BYTES:,} bytes: take one namespace (-n) a file")
        document = parse_json(text)
        if isinstance(document, list):
            document = {"items": document}
        if not isinstance(document, dict):
            raise ValueError(f"{type(document).__name__}, not an object")
        items = document.get("items", [document])
        if not isinstance(items, list):
            raise ValueError(f"items is {type(items).__name__}, not a list")
    except UserError:
        raise
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise UserError(f"{path}: {error}; expected {_EXPECTED}") from None
    kind = str(document.get("kind", "")).removesuffix("List")  # items of a PodList name no kind
    for number, item in enumerate(items):
        yield _Item(path, number, item, kind)


def _kind(item: Mapping[str, Any]) -> str:
    """Return the kind, with its group where another project's has the same name."""
    kind, group = str(item.get("kind", "")), str(item.get("apiVersion", "")).partition("/")[0]
    return kind if not group or group in _GROUPS.get(kind, group) else f"{group}/{kind}"


def _uids(item: Mapping[str, Any]) -> tuple[str, list[str]]:
    metadata = item.get("metadata") or {}
    owners = metadata.get("ownerReferences") or ()
    return str(metadata.get("uid", "")), [str(owner.get("uid", "")) for owner in owners]


def _unclaimed(by_kind: Mapping[str, list[_Item]]) -> Iterator[_Item]:
    """Yield the pods that belong to none of the workloads, directly or through their owners."""
    owners = {item.uid: item.owners for items in by_kind.values() for item in items if item.uid}
    claimed = {uid for item in by_kind["Workload"] for uid in item.owners if uid}
    for pod in by_kind["Pod"]:
        ancestors = {pod.uid, *pod.owners}
        for _ in range(_MOST_OWNERS):
            ancestors |= {owner for uid in ancestors for owner in owners.get(uid, ())}
        if not ancestors & claimed:
            yield pod


def _gangs(by_kind: Mapping[str, list[_Item]]) -> Gangs:
    return Gangs(
        least=dict(item.read(_least) for item in by_kind["PodGroup"]),
        parallel={
            name: count
            for name, count in (item.read(_parallel) for item in by_kind["Job"])
            if count > 1
        },
    )


def _name(item: Mapping[str, Any]) -> tuple[str, str]:
    metadata = item["metadata"]
    return str(metadata.get("namespace", "default")), str(metadata["name"])


def _least(item: Mapping[str, Any]) -> tuple[tuple[str, str], float]:
    return _name(item), float(item["spec"].get("minMember", 1))


def _parallel(item: Mapping[str, Any]) -> tuple[tuple[str, str], float]:
    """Return the number of pods that a Job runs at once; 1 if some of its pods run later."""
    spec = item["spec"]
    parallel = float(spec.get("parallelism") or 1)
    completions = float(spec.get("completions") or parallel)
    return _name(item), parallel if completions <= parallel else 1.0


def _utf8(value: Any) -> Any:
    """Return a text without lone surrogates, which JSON can hold; another value as it is."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else value
