"""A configuration that grows, runs in circles or asks for the absurd is refused at once."""

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from config_files import BOMB, workload, write

from trimtab.config import ConfigError, Configurations
from trimtab.config.fields import MistakeError
from trimtab.config.groups.cluster import ClusterConfig
from trimtab.config.groups.debloat import Debloat
from trimtab.config.groups.experiment import Schedule
from trimtab.config.groups.jobs.arrivals import ArrivalsConfig
from trimtab.config.groups.trace import RoundsConfig, WorkConfig
from trimtab.config.limits import UnreadableFileError, check_values, yaml_values
from trimtab.config.root import Profiling, Settle, Verify
from trimtab.config.validate import checked

FILE = "workload/lenet5_train.yaml"
NAMED = "name: lenet5_train\ncommand: [python, -c, '1']\npython: bin/python\n"
REFERENCE = "${workload.parameters.p%d}"
DOUBLED = {"p0": "x" * 10} | {f"p{n}": 2 * (REFERENCE % (n - 1)) for n in range(1, 40)}


@contextmanager
def quickly() -> Iterator[None]:
    """In less than 5 s of the processor, and less than 1 GB above what was there."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun_s = time.process_time()
    yield
    assert time.process_time() - begun_s < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 20


def said(conf: Path, *overrides: str) -> str:
    with quickly(), pytest.raises(ConfigError) as caught:
        Configurations(conf, overrides)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 1000
    return message


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (BOMB, "line 5: more than 20,000 values"),
        ("a: &a [*a]\n", "line 1: *a stands for itself"),
        ("a: &a {<<: *a, b: 1}\n", "line 1: *a stands for itself"),
        ("a: *b\n", "line 1: *b stands for itself, or for nothing"),
        ("a: " + "[" * 5000 + "]" * 5000, "line 1: more than 32 levels deep"),
        ("a: " + "{b: " * 900 + "1" + "}" * 900, "line 1: more than 32 levels deep"),
        ("a: !!python/object/apply:os.system [id]\n", "line 1: the tag"),
        ("a: !include /etc/passwd\n", "line 1: the tag"),
        ("a: [" + "1, " * 30_000 + "]", "more than 20,000 values"),
        ("#" * (1 << 19), "larger than 262,144 bytes"),
        ("a: \x00\n", "character 4: a control character"),
    ],
)
def test_a_file_that_grows_is_refused_as_it_is_read(
    tmp_path: Path, document: str, expected: str
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(document)
    with quickly(), pytest.raises(UnreadableFileError) as caught:
        yaml_values(path)
    assert str(caught.value).startswith(f"{path}") and expected in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (DOUBLED, "p15: more than 1,048,576 characters when filled in"),
        ({"a": "${.a}"}, "parameters.a: an interpolation that leads back to itself"),
        ({"a": "${workload.parameters.b}", "b": "${.a}"}, "leads back to itself"),
        ({"a": "${workload}"}, "leads back to itself"),
        ({"a": "${oc.select:env}"}, "parameters.a: the resolver 'oc.select' given"),
        ({"a": "${workload.${.b}}", "b": "name"}, "parameters.a: a key named by an interpol"),
        ({"a": float("nan")}, "parameters.a: nan given, expected a finite number"),
        ({"a": [{"b": float("inf")}]}, "parameters.a[0].b: inf given, expected a finite number"),
        ({"a": 1 << 70}, "parameters.a: expected a number of at most 64 bits"),
    ],
)
def test_values_that_grow_are_refused_before_they_do(
    parameters: dict[str, Any], expected: str
) -> None:
    with quickly(), pytest.raises(MistakeError) as caught:
        check_values({"workload": {"name": "w", "parameters": parameters}})
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (BOMB, "lenet5_train.yaml, line 5: more than 20,000 values"),
        ("a: 1\na: 2\n", "duplicate key a"),
        (NAMED + "parameters: {a: 1e999}\n", "parameters.a: inf given, expected a finite number"),
        (NAMED + "timeout_s: 1e300\n", "workload.timeout_s: 1e+300 given, expected a number of"),
        ("defaults: [lenet5_train]\nname: lenet5_train\n", "lists of defaults that name each"),
    ],
)
def test_a_file_is_refused_with_its_name(conf: Path, document: str, expected: str) -> None:
    write(conf, FILE, document)
    message = said(conf)
    assert "lenet5_train.yaml" in message or str(conf) in message
    assert expected in message


def test_what_is_no_file_is_none(conf: Path) -> None:
    (conf / FILE).unlink()
    os.mkfifo(conf / FILE)
    assert "lenet5_train.yaml" in said(conf)
    (conf / FILE).unlink()
    (conf / FILE).symlink_to("/dev/zero")
    assert "lenet5_train.yaml" in said(conf)
    (conf / FILE).unlink()
    with (conf / FILE).open("wb") as file:
        file.truncate(100 << 20)
    assert "lenet5_train.yaml: larger than" in said(conf)


@pytest.mark.parametrize(
    ("kind", "given", "key"),
    [
        (Profiling, {"repeats": 10_001}, "repeats"),
        (Profiling, {"traced_runs": 1 << 80}, "traced_runs"),
        (Profiling, {"sample_interval_s": 1e16}, "sample_interval_s"),
        (Settle, {"clean_runs": 10_001}, "clean_runs"),
        (Settle, {"rebuilds": 10_001}, "rebuilds"),
        (Verify, {"repeats": 99_999_999}, "repeats"),
        (WorkConfig, {"phases": 1_001}, "phases"),
        (WorkConfig, {"mean_s": float("inf")}, "mean_s"),
        (RoundsConfig, {"map_tasks": 1_000_001}, "map_tasks"),
        (ArrivalsConfig, {"jobs": 10**20}, "jobs"),
        (ArrivalsConfig, {"jobs": 1e20}, "jobs"),
        (ArrivalsConfig, {"bursts": 10**9}, "bursts"),
        (ClusterConfig, {"name": "c", "nodes": {"a": 10**7}}, "nodes.a"),
        (ClusterConfig, {"name": "c", "nodes": {"a": 10**6, "b": 1}}, "nodes"),
        (ClusterConfig, {"name": "c", "nodes": {"a": 1}, "engine_slots": 10**7}, "engine_slots"),
        (Debloat, {"name": "d", "minimum_hole_bytes": 1 << 40}, "minimum_hole_bytes"),
        (Schedule, {"replications": 10**5}, "replications"),
    ],
)
def test_absurd_numbers_are_refused_by_their_key(
    kind: type[object], given: dict[str, Any], key: str
) -> None:
    with quickly(), pytest.raises(MistakeError) as caught:
        checked(given, kind)
    assert caught.value.key == key


def test_an_absurd_override_is_named(conf: Path) -> None:
    override = "trace.arrivals.jobs=100000000000000000000"
    assert f"override '{override}': trace.arrivals.jobs: " in said(conf, override)


def test_deep_and_long_overrides_are_refused(conf: Path) -> None:
    said(conf, "workload.parameters.a=" + "[" * 3000 + "]" * 3000)


def test_a_job_that_no_node_is_large_enough_for(conf: Path) -> None:
    given: dict[str, Any] = {
        "name": "wide",
        "arrivals": {"jobs": 3, "load": 0.5},
        "classes": {"low": {"cores": 4096, "work": {"mean_s": 1}}},
    }
    write(conf, "trace/wide.yaml", given)
    cells = "experiment.schedule={clusters: [wide], traces: [wide], policies: [non_preemptive]}"
    write(conf, "cluster/wide.yaml", {"name": "wide", "nodes": {"this_machine": 2}})
    message = said(conf, cells)
    assert "trace/wide.yaml: trace.classes.low: 4096 cores, 0 GPUs" in message
    assert "what a node of the cluster wide has" in message
    given["classes"]["low"]["cores"] = 1
    write(conf, "trace/wide.yaml", given)
    Configurations(conf, [cells])


def test_what_is_written_today_stays(conf: Path) -> None:
    write(conf, FILE, workload(parameters={"a": "${workload.name} ${.b}", "b": "x"}))
    option = Configurations(conf).option("workload", "lenet5_train")
    assert option.parameters["a"] == "lenet5_train x"
