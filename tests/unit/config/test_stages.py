import json
from dataclasses import replace
from pathlib import Path

import pytest
from shipped_configurations import SHIPPED

from trimtab.config import ConfigError, Configurations, dump, load
from trimtab.config.groups.debloat import Start
from trimtab.config.stages import (
    DebloatStage,
    EvaluateStage,
    ProfileStage,
    ResolvedConfig,
    StartStage,
    TraceStage,
)


@pytest.fixture(scope="module")
def configurations() -> Configurations:
    return SHIPPED


def profile_stage(configurations: Configurations) -> ProfileStage:
    root = configurations.root
    return ProfileStage(root.workload, root.hardware, root.profiling)


def test_what_was_dumped_loads_again(configurations: Configurations) -> None:
    root = configurations.root
    evaluated = EvaluateStage(
        root.experiment,
        {"workload": [root.workload], "hardware": [root.hardware], "tuner": [root.tuner]},
    )
    assert load(dump(evaluated), EvaluateStage) == evaluated
    debloated = DebloatStage("a", "b", ["9.0"], [root.workload], root.debloat)
    again = load(dump(debloated), DebloatStage)
    assert again.debloat == replace(root.debloat, start=Start.USUAL)  # it is told later
    assert again.workloads[0].command == root.workload.command
    assert dump(again) == dump(debloated)


def test_descriptions_change_no_stage_but_the_evaluation(configurations: Configurations) -> None:
    stage = profile_stage(configurations)
    reworded = replace(stage, workload=replace(stage.workload, description="x", dataset="y"))
    assert dump(reworded) == dump(stage)
    slower = replace(stage, workload=replace(stage.workload, timeout_s=1.5))
    assert dump(slower) != dump(stage)
    root = configurations.root
    texts = {
        dump(EvaluateStage(root.experiment, {"workload": [workload]}))
        for workload in (stage.workload, reworded.workload)
    }
    assert len(texts) == 2


def test_what_only_scheduling_reads_of_a_machine_profiles_nothing_again(
    configurations: Configurations,
) -> None:
    stage = profile_stage(configurations)
    faster = replace(stage.hardware, speed=3.0, network_bytes_per_s=1.0)
    assert dump(replace(stage, hardware=faster)) == dump(stage)
    root = configurations.root
    texts = {
        dump(TraceStage(root.cluster, [hardware], root.trace))
        for hardware in (stage.hardware, faster)
    }
    assert len(texts) == 2


def test_how_programs_start_makes_no_environment_again(configurations: Configurations) -> None:
    root = configurations.root
    usual, saved = (replace(root.debloat, start=start) for start in Start)
    stage = DebloatStage("a", "b", [], [root.workload], usual)
    assert dump(replace(stage, debloat=saved)) == dump(stage)
    stages = [StartStage("a", "b", [root.workload], each.start) for each in (usual, saved)]
    assert len({dump(each) for each in stages}) == 2
    assert [load(dump(each), StartStage).start for each in stages] == ["usual", "snapshot"]


def test_resolved_shows_every_key(configurations: Configurations) -> None:
    root = configurations.root
    resolved = ResolvedConfig(
        experiment=root.experiment,
        options={"workload": [root.workload]},
        debloat=root.debloat,
        profiling=root.profiling,
        settle=root.settle,
        verify=root.verify,
    )
    document = json.loads(dump(resolved))
    assert document["options"]["workload"][0]["description"] == root.workload.description
    assert document["verify"]["repeats"] == root.verify.repeats
    assert document["debloat"]["start"] == root.debloat.start == "snapshot"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"profiling": {"repeats": 0}}, "profiling.repeats"),
        ({"profiling": {"repeats": "x"}}, "profiling.repeats"),
        ({"speed": 1}, "speed"),
        ({"workload": {"name": "a"}}, "workload.command"),
    ],
)
def test_what_does_not_fit_is_refused(
    configurations: Configurations, change: dict[str, object], expected: str
) -> None:
    document = json.loads(dump(profile_stage(configurations)))
    with pytest.raises(ConfigError, match=expected):
        load(json.dumps({**document, **change}), ProfileStage)


@pytest.mark.parametrize("text", ["", "{", "3", "[]", '"text"', "null"])
def test_text_that_is_no_configuration(text: str) -> None:
    with pytest.raises(ConfigError, match="--config"):
        load(text, ProfileStage)


def test_the_workflow_does_not_import_heavy_packages(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = (
        "import sys, trimtab.config; "
        "print([m for m in ('torch', 'pandas', 'pyarrow', 'numpy') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "[]"
