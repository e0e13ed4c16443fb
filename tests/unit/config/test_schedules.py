"""Clusters, traces, policies and objectives in YAML, and what is said of mistakes in them."""

from pathlib import Path

import pytest
import yaml
from config_files import workload, write

from trimtab.config import ConfigError, Configurations
from trimtab.config.groups.enclave import Secure
from trimtab.config.root import Verify
from trimtab.config.stages import ScheduleStage, VerifyStage, dump, load


def edit(conf: Path, file: str, **changes: object) -> None:
    document = yaml.safe_load((conf / file).read_text())
    for key, value in changes.items():
        place = document
        *steps, last = key.split("__")
        for step in steps:
            place = place[step]
        place[last] = value
    write(conf, file, document)


def test_classes_of_a_trace_that_builds_on_another_are_merged(conf: Path) -> None:
    configurations = Configurations(conf, ["experiment=dias_two_priorities"])
    reference = configurations.option("trace", "dias_two_priorities").classes
    inverse = configurations.option("trace", "dias_mostly_high").classes
    assert [inverse[name].share for name in ("high", "low")] == [9, 1]
    assert inverse["low"].rounds == reference["low"].rounds


def test_a_stage_of_a_schedule_loads_as_it_was_dumped(conf: Path) -> None:
    configurations = Configurations(conf, ["experiment=heats"])
    cluster = configurations.option("cluster", "heats_testbed")
    stage = ScheduleStage(
        cluster=cluster,
        hardware=configurations.options("hardware", cluster.nodes),
        trace=configurations.option("trace", "heats_bursts"),
        policy=configurations.option("policy", "heats_rall"),
        replications=3,
        baseline=False,
    )
    again = load(dump(stage), ScheduleStage)
    assert again.policy.parameters == {
        "energy_weight": "random",
        "tick_s": 30,
        "restarts_moved": True,
    }
    assert again.trace.classes["kmeans"].work.maximum_s == 10.67
    assert list(again.cluster.nodes) == list(cluster.nodes)
    assert dump(again) == dump(stage)


@pytest.mark.parametrize(
    ("file", "change", "expected"),
    [
        ("cluster/heats_testbed.yaml", {"nodes__epyc_7281": 0},
         r"cluster/heats_testbed\.yaml: cluster\.nodes\.epyc_7281: 0 given"),
        ("cluster/heats_testbed.yaml", {"nodes__unheard_of": 1},
         r"hardware: .*hardware/unheard_of\.yaml does not exist"),
        ("cluster/heats_testbed.yaml", {"outages": [{"node": 8, "start_s": 1, "end_s": 2}]},
         r"cluster\.outages\[0\]\.node: 8 given, expected a node of the cluster, 0 to 7"),
        ("cluster/heats_testbed.yaml", {"outages": [{"node": 0, "start_s": 5, "end_s": 2}]},
         r"cluster\.outages\[0\]\.end_s: 2.* expected a number above 5"),
        ("trace/heats_bursts.yaml", {"arrivals__horizon_s": 0},
         r"trace\.arrivals\.horizon_s: 0.* given, expected a number above 0"),
        ("trace/heats_bursts.yaml", {"arrivals": {"kind": "poisson", "jobs": 5}},
         r"trace\.arrivals\.load: 0.* given, expected either load or rate_per_s"),
        ("trace/heats_bursts.yaml", {"arrivals": {"kind": "file", "format": "cvs"}},
         r"trace\.arrivals\.format: 'cvs' given, expected one of parquet, swf"),
        ("trace/heats_bursts.yaml", {"arrivals": {"kind": "file", "format": "swf"}},
         r"trace\.arrivals\.files: \{\} given, expected at least one table"),
        ("trace/heats_bursts.yaml", {"classes__kmeans__accuracy_loss": [[2, 1]]},
         r"classes\.kmeans\.accuracy_loss\[0\]"),
        ("trace/heats_bursts.yaml", {"classes__kmeans__workload": "lenet5_train"},
         r"classes\.kmeans\.workload: 'lenet5_train' given, expected a workload of a target"),
        ("experiment/heats.yaml", {"experiment__schedule__traces": []},
         r"experiment\.schedule\.traces: \[\] given, expected at least one name"),
        ("experiment/heats.yaml", {"experiment__schedule__baseline": "fcfs"},
         r"experiment\.schedule\.baseline: 'fcfs' given, expected one of the policies"),
        ("experiment/heats.yaml", {"experiment__schedule__real": "mesos"},
         r"experiment\.schedule\.real: 'mesos' given, expected one of spark, slurm"),
        ("experiment/heats.yaml", {"experiment__schedule__objectives": ["two_priorities"]},
         r"objective/two_priorities\.yaml: objective\.classes: expected the classes .* kmeans"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_file_and_key(
    conf: Path, file: str, change: dict[str, object], expected: str
) -> None:
    text = (conf / file).read_text()
    edit(conf, file, **change)
    if text.startswith("# @package"):
        write(conf, file, "# @package _global_\n" + (conf / file).read_text())
    with pytest.raises(ConfigError, match=expected):
        Configurations(conf, ["experiment=heats"])


def secure_conf(conf: Path, trace: dict[str, object], **work: object) -> None:
    """One workload, a trace of its jobs and others, and a cluster of the HEATS testbed."""
    write(conf, "workload/lenet5_train.yaml", workload("lenet5_train", **work))
    write(conf, "trace/jobs.yaml", {
        "name": "jobs", "arrivals": {"kind": "poisson", "jobs": 9, "load": 0.1}, "classes": trace,
    })  # fmt: skip
    experiment = {
        "name": "ours", "hardware": ["this_machine"], "targets": {"one": ["lenet5_train"]},
        "schedule": {"clusters": ["heats_testbed"], "traces": ["jobs"], "policies": ["heats"]},
    }  # fmt: skip
    text = yaml.safe_dump({"experiment": experiment})
    write(conf, "experiment/ours.yaml", f"# @package _global_\n{text}")


def test_a_class_is_secure_if_it_or_its_workload_says_so(conf: Path) -> None:
    classes = {
        "carried": {"workload": "lenet5_train"},
        "refined": {"workload": "lenet5_train", "secure": {"calls": 3}},
        "kept": {"workload": "lenet5_train", "secure": False},
        "own": {"secure": True},
        "not": {},
    }
    secure_conf(conf, classes, secure={"encrypted_mb": 5})
    given = Configurations(conf, ["experiment=ours"])
    found = {name: facts.secure for name, facts in given.trace("jobs").classes.items()}
    assert found == {
        "carried": Secure(encrypted_mb=5),
        "refined": Secure(calls=3),
        "kept": Secure(encrypted_mb=5),
        "own": Secure(),
        "not": None,
    }
    assert [enclave.name for enclave in given.enclaves("heats_testbed", "jobs")] == ["sgx1"]


def test_enclaves_are_in_the_stage_of_a_secure_trace_alone(conf: Path) -> None:
    secure_conf(conf, {"open": {"workload": "lenet5_train"}})
    given = Configurations(conf, ["experiment=ours"])
    assert given.enclaves("heats_testbed", "jobs") == []
    assert given.trace("jobs") == given.option("trace", "jobs")


@pytest.mark.parametrize(
    ("classes", "work", "expected"),
    [
        ({"one": {"secure": True, "cores": 8}}, {},
         r"trace/jobs\.yaml: trace\.classes\.one\.secure: given, but no node of the cluster "
         r"heats_testbed .* \(epyc_7281 has no enclave; xeon_e5_2683v4 has no enclave\); "
         r"expected a node type with a fitting `enclave: NAME` in .*hardware"),
        ({"one": {"workload": "lenet5_train", "cores": 16}}, {"secure": True},
         r"workload/lenet5_train\.yaml: workload\.secure: given, but no node"),
        ({"one": {"secure": {"calls": 1.5}}}, {},
         r"trace/jobs\.yaml: trace\.classes\.one\.secure\.calls: 1\.5 given"),
        ({"one": {"secure": {"call": 1}}}, {},
         r"trace\.classes\.one\.secure\.call: unknown key; did you mean calls\?"),
        ({"one": {"secure": {"encrypted_mb": -1}}}, {},
         r"secure\.encrypted_mb: -1.* expected a number of at least 0"),
        ({"one": {"secure": "yes please"}}, {},
         r"trace\.classes\.one\.secure: 'yes please' given, expected the keys calls"),
    ],
)  # fmt: skip
def test_what_cannot_be_protected_is_told(
    conf: Path, classes: dict[str, object], work: dict[str, object], expected: str
) -> None:
    secure_conf(conf, classes, **work)
    with pytest.raises(ConfigError, match=expected):
        Configurations(conf, ["experiment=ours"])


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"thread_limit": {"threads": 1, "source": "a test"}},
         r"xeon_e3_1270v6: 2 threads, sgx1 has 1 at once"),
        ({"page_cache": {"usable_mib": 100, "paged": False, "source": "a test"}},
         r"xeon_e3_1270v6: 204\.8 MiB, sgx1 has 100 and pages nothing"),
    ],
)  # fmt: skip
def test_hard_limits_of_an_enclave_count(
    conf: Path, change: dict[str, object], expected: str
) -> None:
    edit(conf, "enclave/sgx1.yaml", **change)
    secure_conf(conf, {"one": {"secure": True, "cores": 2, "memory_gib": 0.2}})
    with pytest.raises(ConfigError, match=expected):
        Configurations(conf, ["experiment=ours"])


def test_an_enclave_that_is_not_there_is_told(conf: Path) -> None:
    edit(conf, "hardware/xeon_e3_1270v6.yaml", enclave="sgx3")
    secure_conf(conf, {"one": {"secure": True}})
    with pytest.raises(ConfigError, match=r"enclave/sgx3\.yaml does not exist"):
        Configurations(conf, ["experiment=ours"])


def test_secure_or_not_profiles_nothing_again(conf: Path) -> None:
    texts = set()
    for secure in (None, True, {"calls": 5}):
        secure_conf(conf, {"one": {}}, secure=secure)
        root = Configurations(conf, ["experiment=ours"])
        texts.add(dump(VerifyStage("one", root.workloads("one"), root.root.hardware, Verify())))
    assert len(texts) == 1
