"""The profile for Kubernetes is read and its jobs are planned; on a cluster nobody has tried it."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from project import Project

PLUGINS = ("executor_plugin_kubernetes", "storage_plugin_s3", "storage_plugin_fs")


def test_jobs_are_planned_with_objects_for_files(project: Project, tmp_path: Path) -> None:
    """A folder stands for the bucket."""
    for plugin in PLUGINS:
        if find_spec(f"snakemake_{plugin}") is None:
            pytest.skip(f"Snakemake's {plugin} is missing: docs/how-to/run-on-a-cluster.md")
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    said = project.succeed(
        "snakemake", "-n", "--profile", "profiles/kubernetes", "--default-storage-provider", "fs",
        "--default-storage-prefix", str(bucket), "profile",
    )  # fmt: skip
    usage = "results/profile/tiny/test_machine/usage.json"
    assert f"output: {bucket}/{usage} (send to storage)" in said
    assert f"{bucket}/program.py" not in said and f"{bucket}/src" not in said  # Git has these
    assert "mem_mb=8590" in said
