"""Each stage has its rules, its reader, a section of the report, and a folder that DVC keeps."""

import re
from pathlib import Path

import pytest
import yaml

from trimtab.config import Configurations
from trimtab.evaluation.inputs import stages as readers
from trimtab.evaluation.report.section import find_sections
from trimtab.workflow.registry import find_stages, options_of

PROJECT = Path(__file__).resolve().parents[3]
CONFIG = Configurations(PROJECT / "conf")
STAGES = find_stages(CONFIG)


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_is_whole(name: str) -> None:
    stage = STAGES[name]
    rules = (PROJECT / "rules" / f"{name}.smk").read_text()
    for file in stage.handed_on:
        assert f'{stage.folder}/{file}"' in rules
    assert Path(*readers.__path__, f"{name}.py").is_file()
    [pipeline] = yaml.safe_load((PROJECT / "dvc.yaml").read_text())["stages"].values()
    kept = [key for out in pipeline["outs"] for key in out]
    [makes] = [line for line in pipeline["cmd"] if line.startswith("mkdir")]
    assert f"results/{name}" in kept and f"results/{name}" in makes.split()


def test_every_stage_but_the_profile_has_a_section() -> None:
    assert {kind.stage for kind in find_sections()} == STAGES.keys() - {"profile"}


def test_cells_combine_the_options_of_an_experiment() -> None:
    tune = STAGES["tune"].experiment.tune
    files = STAGES["tune"].files("best.yaml", "trials.parquet")
    assert len(files) == 2 * len(tune.tuners) * len(tune.workloads) * len(tune.objectives)
    pattern = re.sub(r"{\w+}", r"[a-z0-9_]+", STAGES["tune"].folder)
    assert all(re.fullmatch(f"{pattern}/(best.yaml|trials.parquet)", file) for file in files)


def test_a_stage_without_cells_names_no_option_that_only_it_reads() -> None:
    alone = Configurations(PROJECT / "conf", ["experiment=growth"])
    found = find_stages(alone)
    assert found["growth"].results() and not found["tune"].results()
    options = options_of(found.values(), alone, whole=True)
    assert options["objective"] == options["tuner"] == options["cluster"] == []


def test_options_come_once() -> None:
    options = options_of(STAGES.values(), CONFIG, whole=True)
    for of_group in options.values():
        names = [option.name for option in of_group]
        assert len(set(names)) == len(names)
    assert "cluster" not in options_of(STAGES.values(), CONFIG, whole=False)
