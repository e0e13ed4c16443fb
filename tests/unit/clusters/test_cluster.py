import math

import pytest

from trimtab.clusters.cluster import Cluster, JobClass, Level, NodeType, Outage, check_classes
from trimtab.errors import UserError

LEVELS = (Level(0.5, 10.0), Level(1.0, 30.0))
NODE = NodeType("node", 1000, 8, 1.0, LEVELS)


def test_nodes_are_numbered_by_type() -> None:
    cluster = Cluster((NODE, NodeType("other", 1, 1, 0.0, LEVELS)), (2, 1))
    assert cluster.size == 3
    assert cluster.type_of_node.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cpu_milli": 0}, "size"),
        ({"idle_w": -1.0}, "idle"),
        ({"levels": ()}, "frequency levels"),
        ({"levels": (Level(0.0, 1.0),)}, "speeds above 0"),
        ({"levels": (Level(1.0, -1.0),)}, "below idle"),
        ({"load_curve": (0.0, 1.0)}, "11 numbers"),
        ({"network_bytes_per_s": 0.0}, "network"),
    ],
)
def test_bad_node_types_are_refused(wrong: dict, message: str) -> None:
    good = {"name": "x", "cpu_milli": 1, "memory_bytes": 1, "idle_w": 0.0, "levels": LEVELS}
    with pytest.raises(UserError, match=f"node type x.*{message}"):
        NodeType(**(good | wrong))


@pytest.mark.parametrize(
    ("types", "counts", "outages", "message"),
    [
        ((), (), (), "needs node types"),
        ((NODE,), (0,), (), "at least 1"),
        ((NODE, NODE), (1, 1), (), "twice"),
        ((NODE,), (1,), (Outage(1, 0.0),), "nodes are 0 to 0"),
        ((NODE,), (1,), (Outage(0, 2.0, 1.0),), "down_s < up_s"),
        ((NODE,), (1,), (Outage(0, -1.0, 1.0),), "0 <= down_s"),
        ((NODE,), (1,), (Outage(0, 1.0, 3.0), Outage(0, 2.0, 5.0)), "still down"),
    ],
)
def test_bad_clusters_are_refused(
    types: tuple, counts: tuple, outages: tuple, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        Cluster(types, counts, outages)


@pytest.mark.parametrize(
    ("job_class", "message"),
    [
        (JobClass("a", slowdown={"none": 2.0}), "a: slowdown: unknown node type 'none'"),
        (JobClass("a", active_w={"none": [1.0]}), "a: active_w: unknown node type 'none'"),
        (JobClass("a", active_w={"node": [1.0]}), "node has 2 levels"),
        (JobClass("a", protection={"none": 2.0}), "a: protection: unknown node type 'none'"),
        (JobClass("a", protection={}), "a: secure, but of the node types node none has an enclave"),
        (JobClass("a", protection={"node": math.inf}), "expected `enclave: NAME` in the YAML"),
    ],
)
def test_classes_that_do_not_fit_the_cluster_are_refused(job_class: JobClass, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_classes(Cluster((NODE,), (1,)), [job_class])


def test_classes_need_names_of_their_own() -> None:
    with pytest.raises(UserError, match="twice"):
        check_classes(Cluster((NODE,), (1,)), [JobClass("a"), JobClass("a")])
    with pytest.raises(UserError, match="missing"):
        check_classes(Cluster((NODE,), (1,)), [])


@pytest.mark.parametrize(
    "wrong", [{"image_bytes": -1}, {"cold_start_s": -1.0}, {"state_bytes": -1}]
)
def test_negative_sizes_and_times_are_refused(wrong: dict) -> None:
    with pytest.raises(UserError, match="job class a"):
        JobClass("a", **wrong)


@pytest.mark.parametrize("slowdown", [0.0, -1.0, math.nan])
def test_slowdowns_are_above_0(slowdown: float) -> None:
    with pytest.raises(UserError, match="slowdown"):
        JobClass("a", slowdown={"node": slowdown})


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan])
def test_protection_is_above_0(factor: float) -> None:
    with pytest.raises(UserError, match="protection"):
        JobClass("a", protection={"node": factor})


def test_secure_jobs_run_where_it_is_said_alone() -> None:
    secure, plain = JobClass("a", protection={"in": 1.5, "out": math.inf}), JobClass("b")
    assert [secure.runs_on(name) for name in ("in", "out", "new")] == [True, False, False]
    assert [plain.protected(name) for name in ("in", "new")] == [1.0, 1.0]
