"""The profile for Kubernetes is linted, its jobs are planned; on a cluster nobody has tried it."""

import os
import re
from pathlib import Path

import pytest
from project import PROJECT, Project

PLUGINS = PROJECT / "build/kubernetes"


@pytest.fixture
def with_plugins() -> dict[str, str]:
    """The environment in which Snakemake has the plugins, and the client that they want."""
    if not (PLUGINS / "snakemake_executor_plugin_kubernetes").is_dir():
        pytest.skip("Snakemake's plugins for Kubernetes are missing: make deps-kubernetes")
    path = os.pathsep.join(filter(None, [str(PLUGINS), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path}


def test_jobs_are_planned_with_objects_for_files(
    project: Project, with_plugins: dict[str, str], tmp_path: Path
) -> None:
    """A folder stands for the bucket."""
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    done = project.run(
        "snakemake", "-n", "--profile", "profiles/kubernetes", "--default-storage-provider", "fs",
        "--default-storage-prefix", str(bucket), "profile", **with_plugins,
    )  # fmt: skip
    said = done.stdout
    assert done.returncode == 0, said
    usage = "results/profile/tiny/test_machine/usage.json"
    assert f"output: {bucket}/{usage} (send to storage)" in said
    assert f"{bucket}/program.py" not in said and f"{bucket}/src" not in said  # Git has these
    assert "mem_mb=8590" in said
    # Minutes, as Slurm's jobs have them: test_slurm_profile.py.
    assert set(re.findall(r"runtime=(\d+)", said)) == {"15"}


def test_the_profile_passes_the_linter(project: Project, with_plugins: dict[str, str]) -> None:
    done = project.run("snakemake", "--lint", "--profile", "profiles/kubernetes", **with_plugins)
    advice = re.findall(r"^    \* (.*)$", done.stdout, re.MULTILINE)
    # Measurements run in the environment that is measured, so that none is named.
    assert all("Specify a conda environment" in each for each in advice), done.stdout
    assert advice or done.returncode == 0, done.stdout
