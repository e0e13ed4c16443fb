"""A project of the user's own, which takes the workflow as a module of Snakemake's."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from project import NOTHING_TO_DO, TINY, Project, make_environment, rules_in

from trimtab.files import read_json
from trimtab.records.imports.saved_starts import SavedStarts

SMALL = ["profiling.repeats=1", "profiling.traced_runs=1"]


@pytest.fixture
def beside(tmp_path: Path) -> Path:
    """A folder with a program and its environment, as users have them."""
    make_environment(tmp_path / "environment")
    shutil.copy(TINY / "program.py", tmp_path)
    return tmp_path


def trimtab(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "trimtab"
    return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True)


def new(folder: Path, *words: str) -> Project:
    done = trimtab(folder, "new", "My slim-one", *words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "My slim-one\n"
    return Project(folder / "My slim-one")


def test_a_project_of_a_command_is_run_and_then_nothing_is_left_to_do(beside: Path) -> None:
    python = "environment/bin/python"
    project = new(beside, "--output", "m.json", "--", python, "program.py", "--output", "m.json")
    parameters = project.folder / "params.yaml"
    chosen = yaml.safe_load(parameters.read_text())["overrides"]
    parameters.write_text(yaml.safe_dump({"overrides": chosen + SMALL}))
    project.succeed("trimtab", "run", "--cores", "2", "profile")
    usage = read_json(project.folder / "results/profile/my_slim_one/this_machine/usage.json")
    assert usage["workload"] == "my_slim_one" and usage["complete"]
    assert NOTHING_TO_DO in project.succeed("trimtab", "run", "-n", "profile")
    planned = project.planned()
    assert planned >= {"debloat_target", "verify_environment", "evaluate_experiment"}
    assert "profile_workload" not in planned
    # What is trimtab's own is not copied, and what the project says of it holds.
    assert not (project.folder / "conf/debloat").exists()
    (project.folder / "conf/debloat").mkdir()
    (project.folder / "conf/debloat/compact.yaml").write_text("name: compact\nmode: nonsense\n")
    said = project.run("snakemake", "-n").stdout
    assert "conf/debloat/compact.yaml: debloat.mode" in said


HEAVY = "total = sum(number * number for number in range(3_000_000))\n"


def tree_of(environment: Path) -> dict[str, str]:
    """The links and digests of an environment's files, by their paths.

    Its own path counts as ENV. Left out are what a place or a time is written into, and snapshots.
    """
    found = {}
    for path in sorted(environment.rglob("*")):
        name = str(path.relative_to(environment))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file() and not re.match(r"trimtab/(modules|snapshots/.*)$|\.snakemake_", name):
            text = path.read_bytes().replace(bytes(environment), b"ENV")
            found[name] = hashlib.sha256(text).hexdigest()
    return found


def test_a_project_gives_the_environment_of_the_command_line(beside: Path) -> None:
    (beside / "heavy.py").write_text(HEAVY)
    (beside / "program.py").write_text("import heavy, markupsafe\nprint(heavy.total)\n")
    words = ("--fallback", "packed", "--keep-paths", "lib/**/markupsafe/*.pyi", "--settle", "1")
    words = (*words, "--start", "snapshot", "--", "environment/bin/python", "program.py")
    typed = trimtab(beside, "debloat", *words)
    assert typed.returncode == 0, typed.stderr
    project = new(beside, "--repeats", "1", *words)
    cell = "results/debloat/my_slim_one/this_machine"
    changes = ("-o", "profiling.repeats=1")
    project.succeed("trimtab", "run", "--cores", "2", *changes, f"{cell}/start.json")
    slim = tree_of(project.folder / cell / "env")
    assert slim == tree_of(beside / "trimtab_workspace/env")
    assert any(name.endswith("markupsafe/_speedups.pyi") for name in slim)
    [start] = SavedStarts.read(project.folder / cell / "start.json").workloads
    assert start.size_bytes and list((project.folder / cell / "env/trimtab/snapshots").iterdir())
    said = project.succeed("trimtab", "run", "-n", *changes)
    assert not rules_in(said) & {"profile_workload", "debloat_target", "save_start"}
    assert "evaluate_experiment" in rules_in(said)


def test_a_project_of_an_image_is_planned(beside: Path) -> None:
    (beside / "image.tar").write_bytes(b"an archive, which planning does not open")
    project = new(beside, "--image", "image.tar", "--", "serve", "--once")
    workload = yaml.safe_load((project.folder / "conf/workload/my_slim_one.yaml").read_text())
    assert workload["target"] == {"kind": "image", "location": "../image.tar"}
    assert workload["command"] == ["serve", "--once"]
    said = project.succeed("trimtab", "run", "-n")
    assert set(re.findall(r"^(?:local)?rule (\w+):", said, re.MULTILINE)) >= {
        "profile_workload", "debloat_target", "verify_environment", "evaluate_experiment",
    }  # fmt: skip


def test_the_profile_for_slurm_holds_for_the_rules_that_a_project_takes(beside: Path) -> None:
    project = new(beside, "--", "environment/bin/python", "program.py", "--output", "m.json")
    profile = yaml.safe_load((project.folder / "profiles/slurm/config.yaml").read_text())
    taken = set(project.succeed("snakemake", "--list-rules").split())
    assert {*profile["groups"], *profile["set-resources"]} <= taken
    if find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip(
            "Snakemake's plugin for Slurm is missing: pip install snakemake-executor-plugin-slurm"
        )
    schedule = "clusters=[heats_testbed]", "traces=[heats_bursts]", "policies=[fcfs]"
    chosen = ["experiment=my_slim_one", *(f"experiment.schedule.{each}" for each in schedule)]
    said = project.succeed(
        "snakemake", "-n", "--profile", "profiles/slurm", "all", "schedule",
        "--config", f"overrides={chosen}",
    )  # fmt: skip
    [group] = re.findall(r"Group job schedule .*\n((?:\n| .*\n)+)", said)
    assert re.findall(r"rule (\w+):", group) == ["make_trace", "simulate"]
    alone = re.findall(r"^rule (\w+):\n(?: .*\n)* .*slurm_extra=--exclusive", said, re.MULTILINE)
    assert set(alone) == {"profile_workload", "debloat_target", "verify_environment"}


def test_what_dvcs_stage_runs_around_the_workflow_is_there(beside: Path) -> None:
    project = new(beside, "--", "environment/bin/python", "program.py", "--output", "m.json")
    [stage] = yaml.safe_load((project.folder / "dvc.yaml").read_text())["stages"].values()
    around = [command for command in stage["cmd"] if not command.startswith("snakemake")]
    assert len(around) == len(stage["cmd"]) - 1
    for command in around:
        project.succeed("sh", "-c", command)
    assert (project.folder / "results/evaluate").is_dir()
    assert all((project.folder / path).exists() for path in stage["deps"])


def test_nothing_that_is_there_is_changed(beside: Path) -> None:
    (beside / "mine").mkdir()
    (beside / "mine/.gitignore").write_text("own\n")
    done = trimtab(beside, "new", "mine", "--", "environment/bin/python", "program.py")
    assert done.returncode == 2 and ".gitignore" in done.stderr
    assert [path.name for path in (beside / "mine").iterdir()] == [".gitignore"]
    done = trimtab(beside, "run")
    assert done.returncode == 2 and "trimtab new" in done.stderr


def test_a_mistake_names_the_file_of_either_folder(beside: Path) -> None:
    project = new(beside, "--", "environment/bin/python", "program.py", "--output", "m.json")
    file = project.folder / "conf/workload/my_slim_one.yaml"
    file.write_text(file.read_text().replace("timeout_s", "timeout"))
    done = project.run("snakemake", "-n")
    assert "conf/workload/my_slim_one.yaml: workload.timeout" in done.stdout
    file.write_text(file.read_text().replace("timeout:", "timeout_s:"))
    done = project.run("snakemake", "-n", "--config", 'overrides=["experiment=nothing"]')
    assert "my_slim_one" in done.stdout and "quickstart" in done.stdout  # there are these
