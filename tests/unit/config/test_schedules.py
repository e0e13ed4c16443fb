"""Clusters, traces, policies and objectives in YAML, and what is said of mistakes in them."""

from pathlib import Path

import pytest
import yaml
from config_files import write

from trimtab.config import ConfigError, Configurations
from trimtab.config.stages import ScheduleStage, dump, load


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
    assert again.policy.parameters == {"energy_weight": "random", "tick_s": 30}
    assert again.trace.classes["kmeans"].work.maximum_s == 92
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
