"""The scheduler through the real client, over HTTP, to a server of objects of the API."""

import threading
from collections.abc import Iterator
from decimal import ROUND_FLOOR
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_api_server import ApiServer, api_server

from trimtab.errors import TrimtabError, UserError
from trimtab.execution.kubernetes.objects import amounts, requested
from trimtab.execution.kubernetes.scheduler import (
    JOB_CLASS_LABEL,
    NODE_TYPE_LABEL,
    SCHEDULER_NAME,
    Bound,
    KubernetesScheduler,
    connect,
)
from trimtab.policies.heats.policy import Heats
from trimtab.policies.kubernetes import Kubernetes

client = pytest.importorskip("kubernetes.client")

MIB = 1 << 20
NODE_TYPES, JOB_CLASSES = ["epyc_7281", "cortex_a53"], ["k_means", "fast"]
# Figure 3.1 of the thesis; the class "k_means" is to take little energy, "fast" to be fast.
HEATS = Heats([[[69.0], [606.0]]] * 2, [[[565.0], [225.0]]] * 2, [1, 1], energy_weight=[1.0, 0.0])


PROJECT = Path(__file__).resolve().parents[4]
PROBE = {"task": "k_means", "memory_gib": 0.25, "work": 1, "level": 0}
KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: test
clusters: [{{name: test, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]
users: [{{name: test, user: {{}}}}]
"""


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api_server("kubernetes") as running:
        yield running


@pytest.fixture
def recorded() -> Iterator[ApiServer]:
    """A recorded cluster: its node of a type, three of its pods in this scheduler's hands."""
    with api_server("recorded") as running:
        running.node("c9b7eea91")["metadata"]["labels"][NODE_TYPE_LABEL] = "epyc_7281"
        for pod in running.pods["items"]:
            if pod["metadata"]["name"].startswith("cpu-intensive-app"):
                pod["spec"]["schedulerName"] = SCHEDULER_NAME
                pod["metadata"]["labels"][JOB_CLASS_LABEL] = "k_means"
        yield running


def api(server: ApiServer) -> Any:
    configuration = client.Configuration()
    configuration.host = f"http://127.0.0.1:{server.server_port}"
    configuration.retries = False
    return client.CoreV1Api(client.ApiClient(configuration))


def scheduler(server: ApiServer, policy: Any = HEATS) -> KubernetesScheduler:
    return KubernetesScheduler(api(server), policy, node_types=NODE_TYPES, job_classes=JOB_CLASSES)


def test_a_pass_over_the_queue(server: ApiServer) -> None:
    """Oldest first; who fits nowhere holds up nobody; each sees what those before it took.

    arm-1 has 2.1 free cores, arm-2 four (its pod has ended), 807 MiB each: "old" takes arm-1,
    where 0.1 core is left, "young" arm-2, which leaves "beside-init" its 1.35 there.
    """
    ours = scheduler(server)
    assert ours.schedule() == [
        Bound("default", "old", "arm-1"),
        Bound("default", "young", "arm-2"),
        Bound("default", "fast", "amd-1"),
        Bound("default", "beside-init", "arm-2"),
    ]
    assert ours.unknown == ["default/classless"]
    path, body = server.bindings[0]
    assert path == "/api/v1/namespaces/default/pods/old/binding"
    uid = server.pod("old")["metadata"]["uid"]
    assert body == {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "old", "namespace": "default", "uid": uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "arm-1"},
    }
    # The server has them bound now: the next pass finds "huge" alone, and no room for it.
    assert ours.schedule() == []
    assert len(server.bindings) == 4


def test_the_default_scheduler_s_policy_drives_it_too(server: ApiServer) -> None:
    bound = scheduler(server, Kubernetes(7, [1, 1])).schedule()
    assert {one.pod: one.node for one in bound} == {
        "old": "amd-1",
        "young": "amd-1",
        "fast": "amd-1",
        "beside-init": "arm-2",
    }


def test_pods_of_secure_classes_go_to_node_types_with_an_enclave_alone(server: ApiServer) -> None:
    """HEATS would rather have k-means on the small nodes, which have none; what the large one
    has no room for waits."""
    ours = KubernetesScheduler(
        api(server), HEATS, node_types=NODE_TYPES, job_classes=JOB_CLASSES,
        protected_on={"k_means": ["epyc_7281"]},
    )  # fmt: skip
    assert {one.pod: one.node for one in ours.schedule()} == {
        "old": "amd-1", "young": "amd-1", "fast": "amd-1",
    }  # fmt: skip
    none = KubernetesScheduler(
        api(server), HEATS, node_types=NODE_TYPES, job_classes=JOB_CLASSES,
        protected_on={"k_means": []},
    )  # fmt: skip
    assert none.schedule() == []


@pytest.mark.parametrize("protected_on", [{"k_mean": ["epyc_7281"]}, {"k_means": ["epyc"]}])
def test_unknown_names_of_what_is_protected_are_told(
    server: ApiServer, protected_on: dict[str, list[str]]
) -> None:
    with pytest.raises(UserError, match=r"protected_on: .* given, expected job classes, k_means"):
        KubernetesScheduler(
            api(server), HEATS, node_types=NODE_TYPES, job_classes=JOB_CLASSES,
            protected_on=protected_on,
        )  # fmt: skip


def test_page_cache_of_sgx_is_handed_out_once(server: ApiServer) -> None:
    """Of the device plug-in: two pods of 60 MiB do not fit the 93 MiB of one node."""
    epc = "sgx.intel.com/epc"
    for pod in ("old", "young"):
        server.pod(pod)["spec"]["containers"][0]["resources"]["requests"][epc] = "60Mi"
    assert {one.pod for one in scheduler(server).schedule()} == {"fast", "beside-init"}
    server.node("arm-2")["status"]["allocatable"][epc] = str(93 * MIB)
    bound = scheduler(server).schedule()
    assert [(one.pod, one.node) for one in bound] == [("old", "arm-2")]
    server.node("amd-1")["status"]["allocatable"][epc] = str(60 * MIB)
    assert [(one.pod, one.node) for one in scheduler(server).schedule()] == [("young", "amd-1")]


def test_a_pod_that_did_not_fit_is_tried_again(server: ApiServer) -> None:
    ours = scheduler(server)
    ours.schedule()
    allocatable = server.node("amd-1")["status"]["allocatable"]
    allocatable["cpu"] = "40"
    assert ours.schedule() == [Bound("default", "huge", "amd-1")]


def test_what_a_real_scheduler_found_no_room_for(recorded: ApiServer) -> None:
    """Two cores, of which recorded pods ask for 1.3: "Insufficient cpu" for another 0.8."""
    waiting = [pod for pod in recorded.pods["items"] if pod["status"]["phase"] == "Pending"]
    assert len(waiting) == 2
    for pod in waiting:
        assert "1 Insufficient cpu" in pod["status"]["conditions"][0]["message"]
    assert scheduler(recorded).schedule() == []
    assert recorded.bindings == []


def test_a_real_cluster_with_room_for_one(recorded: ApiServer) -> None:
    """Without the one of three that the recorded cluster had placed there is room for one again."""
    placed = recorded.pod("cpu-intensive-app-7bcfc5d944-9479r")
    recorded.pods["items"].remove(placed)
    ours = scheduler(recorded)
    assert [one.node for one in ours.schedule()] == ["c9b7eea91"]
    assert ours.schedule() == []


@pytest.mark.parametrize("code", [404, 409])
def test_a_pod_that_changed_meanwhile_takes_no_room(server: ApiServer, code: int) -> None:
    server.refusals["old"] = code
    bound = scheduler(server).schedule()
    assert [one.pod for one in bound] == ["young", "fast", "beside-init"]
    assert bound[0].node == "arm-1"


def test_other_refusals_are_told(server: ApiServer) -> None:
    server.refusals["old"] = 403
    with pytest.raises(TrimtabError, match=r"binding default/old to arm-1: 403"):
        scheduler(server).schedule()


def test_nodes_that_do_not_take_part(server: ApiServer) -> None:
    """Not ready, cordoned, tainted, full of pods, of no type: none is used until that changes."""
    for pod in server.pods["items"]:
        pod["spec"].pop("nodeSelector", None)
    for name in ("arm-1", "arm-2"):
        server.node(name)["status"]["allocatable"]["pods"] = "0"
    server.node("amd-1")["spec"]["taints"] = [{"key": "a", "value": "b", "effect": "NoExecute"}]
    assert scheduler(server).schedule() == []
    server.pod("young")["spec"]["tolerations"] = [{"key": "a", "value": "b", "operator": "Equal"}]
    server.pod("fast")["spec"]["tolerations"] = [{"operator": "Exists"}]
    server.pod("old")["spec"]["tolerations"] = [{"key": "a", "value": "x", "operator": "Equal"}]
    bound = scheduler(server).schedule()
    assert bound == [Bound("default", "young", "amd-1"), Bound("default", "fast", "amd-1")]


def test_the_count_of_pods_is_kept(server: ApiServer) -> None:
    """arm-1 has room for one pod more than it runs, arm-2 for none."""
    server.node("arm-1")["status"]["allocatable"]["pods"] = "2"
    server.node("arm-2")["status"]["allocatable"]["pods"] = "0"
    bound = scheduler(server).schedule()
    assert {one.pod: one.node for one in bound} == {
        "old": "arm-1",
        "young": "amd-1",
        "fast": "amd-1",
    }


def test_images_that_are_there_count(server: ApiServer) -> None:
    """With half an hour to pull the image even who wants performance alone goes where it is."""
    pull = [[[0.0, 1800.0]], [[0.0, 0.0]]]
    policy = Heats([[[600.0], [60.0]]], [[[1.0], [1.0]]], [1, 1], energy_weight=0.0, set_up_s=pull)
    ours = KubernetesScheduler(api(server), policy, node_types=NODE_TYPES, job_classes=["k_means"])
    bound = {one.pod: one.node for one in ours.schedule()}
    assert bound["old"] == "amd-1"
    for name in ("arm-1", "arm-2"):
        server.node(name)["status"]["images"].append({"names": ["example.org/kmeans:v4"]})
    server.pod("old")["spec"].pop("nodeName")
    server.pod("young")["spec"].pop("nodeName")
    bound = {one.pod: one.node for one in ours.schedule()}
    assert bound["old"] == "arm-2"  # "beside-init" is on arm-1


def test_it_runs_until_it_is_stopped(server: ApiServer) -> None:
    ours, stop = scheduler(server), threading.Event()
    thread = threading.Thread(target=ours.run, args=(stop,), kwargs={"retry_s": 5})
    thread.start()
    try:
        assert server.watched.wait(20)
    finally:
        stop.set()
        thread.join(20)
    assert not thread.is_alive()
    assert len(server.bindings) == 4
    # It goes on from what it listed, so nothing that happens in between goes unseen.
    assert server.watches[0]["resourceVersion"] == ["18400"]
    assert server.watches[0]["timeoutSeconds"] == ["5"]


def test_a_watch_that_expired_is_begun_anew(server: ApiServer) -> None:
    server.watch_status = 410
    ours = scheduler(server)
    ours.schedule()
    ours._await_change(1)
    server.watch_status = 500
    with pytest.raises(TrimtabError, match="watching pods: 500"):
        ours._await_change(1)


@pytest.mark.parametrize(
    ("quantities", "expected"),
    [
        ({"cpu": "500m", "memory": "1Gi"}, [500, 0, 1 << 30]),
        ({"cpu": "2", "memory": "128974848"}, [2000, 0, 128974848]),
        ({"cpu": "0.1", "memory": "129e6"}, [100, 0, 129_000_000]),
        (
            {"cpu": "1k", "memory": "129M", "nvidia.com/gpu": "2"},
            [1_000_000, 2000, 129 * 10**6],
        ),
        ({"cpu": "100u", "memory": "1500m"}, [1, 0, 2]),
        ({}, [0, 0, 0]),
        (None, [0, 0, 0]),
    ],
)
def test_quantities(quantities: dict[str, str] | None, expected: list[int]) -> None:
    assert amounts(quantities).tolist() == expected


def test_quantities_of_nodes_are_rounded_down() -> None:
    assert amounts({"cpu": "3999999u", "memory": "1500m"}, ROUND_FLOOR).tolist() == [3999, 0, 1]
    with pytest.raises(ValueError):
        amounts({"cpu": "lots"})


def test_what_a_pod_asks_for(server: ApiServer) -> None:
    """Sidecar 0.1 + container 0.5 against sidecar 0.1 + init container 1; overhead 0.25."""
    pods = {pod.metadata.name: pod for pod in api(server).list_pod_for_all_namespaces().items}
    assert requested(pods["beside-init"]).tolist() == [1350, 0, (32 + 128 + 16) * MIB]
    assert requested(pods["fast"]).tolist() == [1500, 0, 200_000_000]


def test_the_documented_program(
    server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the page has it, but for one pass over the queue in place of endless ones."""
    page = (PROJECT / "docs" / "how-to" / "kubernetes-scheduler.md").read_text()
    program = page.partition("```python\n")[2].partition("```")[0]
    endless, found, here = "scheduler.run(threading.Event())", "connect()", "connect(Path('kube'))"
    assert endless in program and found in program
    (tmp_path / "conf" / "hardware").mkdir(parents=True)
    for name, time_s, energy_j in (("epyc_7281", 69, 565), ("cortex_a53", 606, 225)):
        probes = [
            {**PROBE, "cores": cores, "wall_s": time_s / cores, "energy_j": energy_j}
            for cores in (1, 2, 4)
        ]
        text = yaml.safe_dump({"name": name, "probes": probes})
        (tmp_path / "conf" / "hardware" / f"{name}.yaml").write_text(text)
    (tmp_path / "kube").write_text(KUBECONFIG.format(port=server.server_port))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(program.replace(endless, "bound = scheduler.schedule()").replace(found, here), names)
    # H = 0.618: the ARM node scores 0.618 * (1 - 225 / 565) + 0.382 * 69 / 606, the other 0.382.
    assert {one.pod: one.node for one in names["bound"]}["old"] == "arm-1"
    assert "default/fast" in names["scheduler"].unknown  # a class that the page does not have


def test_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no configuration of a cluster"):
        connect(tmp_path / "config")
