"""Results travel by DVC: a clone that pulls them has nothing left to do in either tool."""

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


def git(project: Project, *arguments: str) -> None:
    done = subprocess.run(
        ["git", *arguments], cwd=project.folder, env=tools(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
