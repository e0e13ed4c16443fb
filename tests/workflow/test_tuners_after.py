"""A tuner that comes after another one begins with what that one's searches have learnt."""

import json
import shutil

import pytest
from project import Project

from trimtab.records.parquet.files import read_table
from trimtab.records.tables import TRIALS

CELL = "tuned/test_machine/none/trials.parquet"
WORK = """
    ends_at = time.process_time() + 0.1
    while time.process_time() < ends_at:
        pass
"""


@pytest.mark.nightly
def test_a_tuner_knows_what_the_one_before_has_learnt(project: Project) -> None:
    tuners = project.folder / "conf/tuner"
    for name, more in (("first", ""), ("again", "after: first\n")):
        text = f"name: {name}\nkind: pipetune\nparameters: {{reduction: 2}}\n{more}"
        (tuners / f"{name}.yaml").write_text(text)
    workload, program = project.folder / "conf/workload/tuned.yaml", project.folder / "tuned.py"
    text = workload.read_text().replace("most: 1}", "most: 3}")
    workload.write_text(text + "  system: {cores: {choices: [1, 2], default: 2}}\n")
    text = program.read_text().replace("import argparse", "import argparse\nimport time")
    loop = "for _ in range(arguments.epochs):"
    program.write_text(text.replace(loop, loop + WORK.rstrip()))
    project.succeed("snakemake", "--cores", "2", f"results/tune/again/{CELL}")
    tables = project.folder / "results/tune"
    first, again = (read_table(tables / name / CELL, TRIALS) for name in ("first", "again"))
    assert not first["known"].any() and again["known"].any()
    truth = json.loads((tables / "first/ground_truth.json").read_text())
    assert truth["jobs"]
    # The first one searched anew, the second one is, too: it begins with other knowledge.
    [searched] = (tables / "again" / CELL).parent.glob("searches/*")
    shutil.rmtree((tables / "first" / CELL).parent / "searches")
    first_one, second_one = (f"results/tune/{name}/{CELL}" for name in ("first", "again"))
    project.succeed("snakemake", "--cores", "2", "--forcerun", first_one, "--", second_one)
    [anew] = (tables / "again" / CELL).parent.glob("searches/*")
    assert anew != searched
