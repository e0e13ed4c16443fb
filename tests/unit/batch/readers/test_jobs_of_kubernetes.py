"""Objects of Kubernetes, Kueue and Volcano: pods, gangs, workloads, requests."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from batch_jobs_checks import check

from trimtab.batch.nodes import has_gpu_type
from trimtab.batch.readers.kubernetes.quantities import quantity
from trimtab.batch.readers.read import ReadJobs, read_jobs
from trimtab.errors import UserError

SAMPLE = Path(__file__).parent / "samples" / "kubernetes.json"
GIB = 2**30
Json = dict[str, Any]


@pytest.fixture
def read(tmp_path: Path) -> Callable[[Any], ReadJobs]:
    def of(document: Any) -> ReadJobs:
        path = tmp_path / "objects"
        path.write_text(json.dumps(document))
        found = read_jobs(path)
        check(found)
        return found

    return of


def item(kind: str, name: str) -> Json:
    items = json.loads(SAMPLE.read_text())["items"]
    [found] = [each for each in items if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found  # type: ignore[no-any-return]


def test_the_sample_by_hand() -> None:
    found = read_jobs(SAMPLE)
    jobs = {job["name"]: job for job in check(found).to_dict("records")}
    assert found.format == "kubernetes"
    assert list(jobs) == [
        "ml/init", "ml/alone", "ml/pg1", "ml/single", "ml/single-too", "ml/wide", "ml/waves-a",
        "ml/waves-b", "team-b/job-queued-1a2b",
    ]  # fmt: skip
    alone, gang, wide = jobs["ml/alone"], jobs["ml/pg1"], jobs["ml/wide"]
    workload, init = jobs["team-b/job-queued-1a2b"], jobs["ml/init"]
    assert (alone["cpu_milli"], alone["memory_bytes"]) == (500, 128974848)
    assert (alone["run_s"], alone["estimate_s"], alone["recorded_start_s"]) == (3600, 7200, 65)
    # Two of three pods have GPUs; from the first start to the last end.
    assert (gang["parts"], gang["gpu_milli"], gang["cpu_milli"]) == (2, 8000, 8000)
    assert (gang["gpu_type"], gang["queue"], gang["user"]) == ("a100", "research", "ml")
    assert (gang["submit_s"], gang["recorded_start_s"], gang["run_s"]) == (660, 1260, 6007)
    # A third pod took the place of a failed one.
    assert (wide["parts"], wide["run_s"]) == (2, 670)
    # Partial admission: two of three pods, each with a seventh of a GPU.
    assert (workload["parts"], workload["gpu_milli"], workload["memory_bytes"]) == (2, 143, GIB)
    assert (workload["run_s"], workload["estimate_s"]) == (1800, 7200)
    assert (workload["queue"], workload["priority"]) == ("user-queue", 100)
    # An init container beside a sidecar takes more than the containers.
    assert (init["cpu_milli"], init["memory_bytes"]) == (3250, 1280 * 2**20)
    assert found.skipped == {
        "never started": 2, "still running": 1, "pods of a DaemonSet or a node": 1,
    }  # fmt: skip
    assert "nodes without cpu or memory, or of more than 62 GPUs, left out: 1" in found.remarks
    assert found.cluster is None
    assert "gangs whose pods without GPUs are left out: 1" in found.remarks


def test_lists_of_one_kind_and_single_objects(read: Callable[[Any], ReadJobs]) -> None:
    pod = item("Pod", "alone")
    expected = read(pod).jobs
    bare = {key: value for key, value in pod.items() if key not in ("kind", "apiVersion")}
    for document in (
        {"kind": "PodList", "apiVersion": "v1", "items": [bare]},  # as the API answers
        {"items": [pod]},
        pod | {"attempts": 3},  # a key of another format
        [pod],  # as jq '.items' prints
    ):
        assert read(document).jobs.equals(expected)


@pytest.mark.parametrize(
    "mark",
    [
        {"annotations": {"scheduling.k8s.io/group-name": "g"}},
        {"annotations": {"scheduling.volcano.sh/group-name": "g"}},
        {"labels": {"scheduling.x-k8s.io/pod-group": "g"}},
        {"labels": {"kueue.x-k8s.io/pod-group-name": "g"}},
    ],
)
def test_gangs_by_their_mark(read: Callable[[Any], ReadJobs], mark: Json) -> None:
    pods = []
    for number in range(4):
        pod = copy.deepcopy(item("Pod", "alone"))
        pod["metadata"] |= {"name": f"p{number}", "uid": f"u{number}"}
        if number < 3:
            pod["metadata"] |= mark
        pods.append(pod)
    jobs = read({"items": pods}).jobs
    assert jobs["parts"].tolist() == [3, 1] and jobs["name"].tolist() == ["ml/g", "ml/p3"]
    pods[1]["status"] = {"phase": "Running", "startTime": "2026-01-05T08:00:05Z"}
    found = read({"items": pods})  # one that runs holds the gang
    assert found.jobs["parts"].tolist() == [1] and found.skipped == {"still running": 1}


def test_pods_of_a_workload_are_found_through_their_owners(
    read: Callable[[Any], ReadJobs],
) -> None:
    workload = item("Workload", "job-queued-1a2b")
    workload["metadata"]["ownerReferences"][0] |= {"kind": "JobSet", "uid": "set"}
    job = item("Job", "queued")
    job["metadata"]["ownerReferences"] = [{"kind": "JobSet", "name": "s", "uid": "set"}]
    found = read({"items": [workload, job, item("Pod", "queued-x"), item("Pod", "alone")]})
    assert found.jobs["name"].tolist() == ["ml/alone", "team-b/job-queued-1a2b"]
    found = read({"items": [job, item("Pod", "queued-x"), item("Pod", "alone")]})
    assert found.jobs["name"].tolist() == ["ml/alone", "team-b/queued"]


def test_other_projects_have_kinds_of_the_same_name(read: Callable[[Any], ReadJobs]) -> None:
    volcano = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "j"}}
    native = {"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "metadata": {}}
    found = read({"items": [volcano, native, item("Pod", "alone")]})
    assert "objects of the kind batch.volcano.sh/Job, left out: 1" in found.remarks
    assert "objects of the kind scheduling.k8s.io/Workload, left out: 1" in found.remarks


@pytest.mark.parametrize(
    ("text", "value"),
    [("2", 2), ("500m", 0.5), ("1.5Gi", 1.5 * GIB), ("1e3", 1000), ("1E", 1e18), ("12E2", 1200),
     ("100k", 1e5), ("250u", 25e-5), (3, 3), (".5", 0.5), ("128974848", 128974848), ("4Mi", 2**22)],
)  # fmt: skip
def test_quantities(text: Any, value: float) -> None:
    assert quantity(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    "text", ["", "m", "1 Gi", "1GiB", "0x1", "1e", "--1", None, "1_0", "9" * 99]
)
def test_what_is_no_quantity(text: Any) -> None:
    with pytest.raises(ValueError, match="expected such as 500m"):
        quantity(text)


def test_pods_without_requests_fit_anywhere(read: Callable[[Any], ReadJobs]) -> None:
    pod = item("Pod", "alone")
    del pod["spec"]["containers"][0]["resources"]
    [job] = read(pod).jobs.to_dict("records")
    assert (job["cpu_milli"], job["gpu_milli"], job["memory_bytes"]) == (1, 0, 0)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"metadata": None}, "a Pod: "),
        ({"metadata": {"creationTimestamp": "yesterday"}}, "yesterday|name"),
        ({"spec": []}, "a Pod: "),
        ({"spec": {"containers": [{"resources": {"requests": {"cpu": "many"}}}]}}, "'many'"),
        ({"spec": {"containers": 7}}, "a Pod: "),
        ({"spec": {"priority": 10**400}}, "OverflowError"),
        ({"status": {"startTime": "2026-01-05T25:00:00Z"}}, "25|hour"),
        ({"status": {"containerStatuses": [{"state": {"terminated": None}}]}}, "a Pod: "),
    ],
)
def test_damaged_objects_are_named(
    read: Callable[[Any], ReadJobs], change: Json, expected: str
) -> None:
    with pytest.raises(UserError, match=f"item 1, a Pod: .*(?:{expected})|item 1, {expected}"):
        read({"items": [item("Pod", "single"), item("Pod", "alone") | change]})


def test_other_documents(read: Callable[[Any], ReadJobs]) -> None:
    for document, expected in (
        ({"items": [item("Node", "n1")]}, "no pod .1 Node."), ({"items": []}, "no object"),
        ({"items": {}}, "items is dict"), ({"items": [7]}, "item 0: int"), ({}, "JSON of none"),
        ({"jobs": [{"job_id": 1}]}, "JSON of none .* sacct -a -P"),  # as sacct --json prints
    ):  # fmt: skip
        with pytest.raises(UserError, match=expected) as caught:
            read(document)
        assert "kubectl get nodes,pods,jobs -A -o json" in str(caught.value)
    pod = item("Pod", "alone")
    pod["metadata"]["namespace"] = "\ud800"  # JSON can hold half of a character
    assert read(pod).jobs["user"].tolist() == ["?"]


def test_the_image_is_that_of_the_first_container(read: Callable[[Any], ReadJobs]) -> None:
    pod = item("Pod", "alone")
    pod["spec"]["containers"][0]["image"] = "registry.example/train:2"
    pod["spec"]["containers"].append({"name": "log", "image": "log:1"})
    assert list(read(pod).jobs["image"]) == ["registry.example/train:2"]
    del pod["spec"]["containers"][0]["image"]
    assert list(read(pod).jobs["image"]) == [""]


def test_the_image_of_a_gang_is_that_of_its_pods_with_gpus(tmp_path: Path) -> None:
    document = json.loads(SAMPLE.read_text())
    for each in document["items"]:
        spec = each.get("spec", {})
        for pod in (spec, *(one["template"]["spec"] for one in spec.get("podSets", ()))):
            for container in pod.get("containers", ()):
                on_gpus = "nvidia.com" in json.dumps(container.get("resources", {}))
                container["image"] = "worker" if on_gpus else "launcher"
    path = tmp_path / "objects.json"
    path.write_text(json.dumps(document))
    jobs = read_jobs(path).jobs
    on_gpus = jobs["gpu_milli"] > 0
    assert (jobs["image"][on_gpus] == "worker").all() and on_gpus.any()
    assert (jobs["image"][~on_gpus] == "launcher").all()


def node(name: str, cpu: str, memory: str, **more: Any) -> Json:
    resources = {"cpu": cpu, "memory": memory, **more.pop("resources", {})}
    metadata = {"name": name, "uid": name, "labels": more.pop("labels", {})}
    status = {"allocatable": resources, "capacity": {"cpu": "999", "memory": "999Ti"}}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": more,
        "status": status,
    }


def test_the_cluster_is_that_of_the_nodes(read: Callable[[Any], ReadJobs]) -> None:
    gpus = {"resources": {"nvidia.com/gpu": "8"}}
    a100 = {"labels": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}}
    taint = {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]}
    found = read(
        [
            item("Pod", "alone"),
            node("g1", "95900m", "1000Gi", **gpus, **a100),
            node("c1", "15920m", "63Gi"),
            node("c2", "15890m", "65011712Ki"),  # 62 GiB
            node("c3", "15890m", "66060288Ki"),  # 63 GiB
            node("any", "95900m", "1000Gi", **gpus),
            node("cordoned", "64", "1Ti", unschedulable=True),
            node("control", "64", "1Ti", **taint),
        ]
    )
    assert found.cluster is not None
    sizes = {
        each.name: (each.cpu_milli, each.memory_bytes // GIB, each.gpu_milli, count)
        for each, count in zip(found.cluster.node_types, found.cluster.counts, strict=True)
    }
    assert sizes == {
        "15c63g": (15890, 63, 0, 2),
        "15c62g": (15890, 62, 0, 1),
        "95c1000g8gpu": (95900, 1000, 8000, 1),
        "a100_95c1000g8gpu": (95900, 1000, 8000, 1),
    }
    assert next(iter(sizes)) == "15c63g"
    assert "nodes that take no pods, left out: 2" in found.remarks
    assert [has_gpu_type(each, "h100") for each in found.cluster.node_types] == [
        *(True, True, True, False)
    ]
