"""Results travel by DVC: a clone that pulls them has nothing left to do in either tool."""

import json
import shutil
import subprocess
from pathlib import Path

from project import NOTHING_TO_DO, Project, tools


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

    for unversioned in ("debloat/tiny/test_machine/env", "profile/tiny/test_machine/runs"):
        assert (original.folder / "results" / unversioned).is_dir()
        assert not (clone.folder / "results" / unversioned).exists()
    report = "results/evaluate/quickstart/report.html"
    assert (clone.folder / report).read_bytes() == (original.folder / report).read_bytes()


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
        assert changes and all(key.startswith("schedule.") for key in changes)
        keys = json.loads(project.succeed("dvc", "params", "diff", "--json", *compared))
        assert list(keys["params.yaml"]) == ["overrides"]
        assert keys["results/config.yaml"]
    shown = project.succeed("dvc", "exp", "show", "--csv")
    assert "first" in shown and "second" in shown and "targets.tiny.after_mb" in shown
    project.succeed("dvc", "plots", "diff", "main", "fewer_jobs", "-o", "plots")
    page = (project.folder / "plots/index.html").read_text()
    assert "sizes.svg" in page and "http" not in page  # it opens without a network


def git(project: Project, *arguments: str) -> None:
    done = subprocess.run(
        ["git", *arguments], cwd=project.folder, env=tools(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
