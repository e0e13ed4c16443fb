"""Results travel by DVC: a clone that pulls them has nothing left to do in either tool."""

import json
import os
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from documents import of_page
from project import NOTHING_TO_DO, PROJECT, Project, tools


def test_clone_and_pull_leave_nothing_to_do(finished: Project, tmp_path: Path) -> None:
    original = Project(tmp_path / "original")
    shutil.copytree(finished.folder, original.folder, symlinks=True)
    git(original, "init", "-q", "-b", "main")
    original.succeed("dvc", "remote", "add", "-q", "-d", "store", str(tmp_path / "store"))
    assert NOTHING_TO_DO in original.succeed("dvc", "repro")
    git(original, "add", "-A")
    git(original, "commit", "-q", "-m", "results")
    original.succeed("dvc", "push", "-q")

    clone = Project(tmp_path / "clone")
    git(original, "clone", "-q", str(original.folder), str(clone.folder))
    assert not (clone.folder / "results").exists()
    shutil.copytree(original.folder / "environment", clone.folder / "environment", symlinks=True)
    clone.succeed("dvc", "pull", "-q")
    assert NOTHING_TO_DO in clone.succeed("snakemake", "-n", "--cores", "2", "all")
    assert "up to date" in clone.succeed("dvc", "status")
    assert "Stage 'pipeline' didn't change" in clone.succeed("dvc", "repro")

    runs = "results/profile/tiny/test_machine/runs"
    assert (original.folder / runs).is_dir() and not (clone.folder / runs).exists()
    # DVC made its programs not executable.
    env = "results/debloat/tiny/test_machine/env"
    assert not (original.folder / env).exists() and not (clone.folder / env).exists()
    report = "results/evaluate/quickstart/report.html"
    assert (clone.folder / report).read_bytes() == (original.folder / report).read_bytes()


@pytest.mark.nightly
@pytest.mark.timeout(1200)  # three experiments from nothing
def test_a_loop_over_values_records_each_one(project: Project) -> None:
    """As the page shows it: every commit has the data of its own value."""
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "configuration")
    page = PROJECT / "docs/how-to/version-results-with-dvc.md"
    [loop] = [each.text for each in of_page(page) if each.text.startswith("for ")]
    project.succeed("bash", "-e", "-c", loop)
    verified = "results/debloat/tiny/test_machine/verify.json"
    for back, value in enumerate((10, 5, 1)):
        git(project, "checkout", "-q", f"main~{back}")
        project.succeed("dvc", "checkout", "-q")
        assert f"repeats={value}]" in (project.folder / "params.yaml").read_text()
        [workload] = json.loads((project.folder / verified).read_text())["workloads"]
        assert workload["repeats"] == value
        said = project.run("dvc", "metrics", "show", COLUMNS="80").stdout
        assert "before_mb" in said and max(map(len, said.splitlines())) <= 120
    # Before the first value there was none.
    said = project.succeed("dvc", "metrics", "diff", "HEAD~1")
    assert re.search(r"before_mb +- +\d", said)


@pytest.mark.nightly
def test_experiments_on_branches(finished: Project, tmp_path: Path) -> None:
    """Nothing is computed that is there: what no lock records is not lost."""
    project = Project(tmp_path / "project")
    shutil.copytree(finished.folder, project.folder, symlinks=True)
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "configuration")
    profiled = project.folder / "results/profile/tiny/test_machine/usage.json"
    before = profiled.stat().st_mtime_ns
    assert NOTHING_TO_DO in project.succeed("dvc", "exp", "run", "-n", "first")
    assert profiled.stat().st_mtime_ns == before
    assert not (project.folder / ".snakemake/unrecorded").exists()
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "first")

    fewer = 'overrides=["trace.arrivals.jobs=200"]'
    said = project.succeed("dvc", "exp", "run", "-n", "second", "-S", fewer)
    assert "rule simulate" in said and "rule profile_workload" not in said
    project.succeed("dvc", "exp", "branch", "second", "fewer_jobs")
    for compared in (["main"], ["main", "fewer_jobs"]):
        diff = json.loads(project.succeed("dvc", "metrics", "diff", "--json", *compared))
        [(file, changes)] = diff.items()
        assert file == "results/metrics/quickstart.json"
        assert list(changes) == ["makespan_s"]
        keys = json.loads(project.succeed("dvc", "params", "diff", "--json", *compared))
        assert list(keys["params.yaml"]) == ["overrides"]
        assert keys["results/config.yaml"]
    shown = project.succeed("dvc", "exp", "show", "--csv")
    assert "first" in shown and "second" in shown and "after_mb" in shown
    project.succeed("dvc", "plots", "diff", "main", "fewer_jobs", "-o", "plots")
    page = (project.folder / "plots/index.html").read_text()
    assert "sizes.svg" in page and "http" not in page  # it opens without a network


def test_what_a_killed_run_has_left_is_not_lost(project: Project, tmp_path: Path) -> None:
    """`dvc exp run` deletes what no lock records; its stage begins by giving it back."""
    kept = project.folder / ".snakemake/unrecorded"
    made = project.folder / "results/config.yaml"
    project.succeed("snakemake", "--cores", "2", "results/config.yaml")
    shutil.rmtree(kept)
    os.mkfifo(tmp_path / "started")
    reader = os.open(tmp_path / "started", os.O_RDWR | os.O_NONBLOCK)
    usage = "results/profile/other/test_machine/usage.json"
    snakemake = subprocess.Popen(
        [Path(sys.executable).parent / "snakemake", "--cores", "2", usage],
        cwd=project.folder, env={**tools(), "TINY_STARTED": str(tmp_path / "started")},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert select.select([reader], [], [], 250)[0]
    os.close(reader)
    snakemake.kill()
    snakemake.wait()
    while not kept.exists():
        os.sched_yield()
    before = made.read_bytes()
    shutil.rmtree(project.folder / "results")
    shutil.rmtree(project.folder / ".snakemake/metadata")
    stage = yaml.safe_load((project.folder / "dvc.yaml").read_text())["stages"]["pipeline"]
    project.succeed("sh", "-c", stage["cmd"][0])
    assert made.read_bytes() == before
    said = project.succeed("snakemake", "-n", "--cores", "2", "results/config.yaml")
    assert NOTHING_TO_DO in said


def git(project: Project, *arguments: str) -> None:
    done = subprocess.run(
        ["git", *arguments], cwd=project.folder, env=tools(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
