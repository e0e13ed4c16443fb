"""The workflow on a real Slurm: what jobs ask for, what becomes of those that are ended."""

import os
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from project import NOTHING_TO_DO, Project, tools

from trimtab.clusters.cluster import Cluster, Level, NodeType
from trimtab.execution.slurm.cluster import SlurmCluster, why_not

pytestmark = pytest.mark.xdist_group("slurm")
NODE = NodeType("node", 2000, 64 << 30, 1.0, (Level(1.0, 1.0),))
# As of profiles/slurm, but for the times after which Slurm is asked how jobs are.
SNAKEMAKE = (
    "snakemake", "--profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "1",
    "--seconds-between-status-checks", "1", "--latency-wait", "5",
    "--slurm-status-command", "squeue",  # this Slurm has no accounting
)  # fmt: skip
USAGE = "results/profile/other/test_machine/usage.json"
SUMMARIES = [
    f"results/schedule/pair/tiny_jobs/{name}/summary.json" for name in ("fcfs", "non_preemptive")
]


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    """Two nodes with the cores of the test's machine."""
    if find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("Snakemake's plugin for Slurm is missing: pip install trimtab[slurm]")
    if reason := why_not():
        pytest.skip(reason)
    with SlurmCluster(Cluster((NODE,), (2,))) as cluster:
        yield cluster


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    """The finished experiment, to be run again in parts."""
    shutil.copytree(finished.folder, tmp_path / "project", symlinks=True)
    return Project(tmp_path / "project")


def reaching(slurm: SlurmCluster) -> dict[str, str]:
    """The environment in which Slurm's programs find this one, also within its jobs.

    Snakemake's plugin takes SLURM_CONF from them: elsewhere it is in /etc.
    """
    folder = slurm.folder / "bin"
    folder.mkdir(exist_ok=True)
    srun = folder / "srun"
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={slurm.conf} exec {shutil.which("srun")} "$@"\n')
    srun.chmod(0o755)
    return {"SLURM_CONF": str(slurm.conf), "PATH": f"{folder}:{tools()['PATH']}"}


def jobs_of(slurm: SlurmCluster) -> list[dict[str, str]]:
    """What Slurm knows of every job, the first first."""
    said = slurm.call("scontrol", "--oneliner", "show", "job")
    jobs = [
        dict(re.findall(r"(\S+?)=(\S*)", line)) for line in said.splitlines() if "JobId=" in line
    ]
    return sorted(jobs, key=lambda job: int(job["JobId"]))


def new_jobs(slurm: SlurmCluster, before: list[dict[str, str]]) -> list[dict[str, str]]:
    known = {job["JobId"] for job in before}
    return [job for job in jobs_of(slurm) if job["JobId"] not in known]


def test_resources_arrive_and_the_second_run_does_nothing(
    project: Project, slurm: SlurmCluster
) -> None:
    before = jobs_of(slurm)
    here = reaching(slurm)
    done = project.run(*SNAKEMAKE, "--forcerun", "profile_workload", "--", USAGE, **here)
    assert done.returncode == 0, done.stdout
    [job] = new_jobs(slurm, before)
    assert job["JobState"] == "COMPLETED"
    # Two cores by the hardware's YAML, 8 GiB by the workload's default, 4 runs of a minute and ten.
    assert job["NumCPUs"] == "2" and job["MinMemoryNode"] == "8590M"
    assert job["TimeLimit"] == "00:15:00"
    again = project.run(*SNAKEMAKE, "--", USAGE, **here)
    assert again.returncode == 0 and NOTHING_TO_DO in again.stdout, again.stdout


def test_short_rules_are_one_job(project: Project, slurm: SlurmCluster) -> None:
    before = jobs_of(slurm)
    here = reaching(slurm)
    done = project.run(*SNAKEMAKE, "--forcerun", "make_trace", "--", *SUMMARIES, **here)
    assert done.returncode == 0, done.stdout
    [job] = new_jobs(slurm, before)
    assert job["JobState"] == "COMPLETED"


def test_a_job_that_is_ended_asks_for_more_and_fails_with_its_log_in_the_end(
    project: Project, slurm: SlurmCluster, tmp_path: Path
) -> None:
    """The first attempt is cancelled; the node of the second one is drained, which it outlives."""
    before = jobs_of(slurm)
    fifo = tmp_path / "started"
    os.mkfifo(fifo)
    # To write too, so that no end of the first attempt is read in place of the second one's words.
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    snakemake = subprocess.Popen(
        [
            str(Path(sys.executable).parent / SNAKEMAKE[0]),
            *SNAKEMAKE[1:],
            "--retries",
            "1",
            "--forcerun",
            "profile_workload",
            "--",
            USAGE,
        ],
        cwd=project.folder,
        env={**tools(), **reaching(slurm), "TINY_STARTED": str(fifo)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        for attempt in (1, 2):
            assert select.select([reader], [], [], 120)[0], f"attempt {attempt} has not begun"
            assert os.read(reader, 7) == b"started"
            job = new_jobs(slurm, before)[-1]
            assert job["MinMemoryNode"] == f"{attempt * 8590}M"
            assert job["TimeLimit"] == f"00:{attempt * 15}:00"
            if attempt == 2:
                slurm.call(
                    "scontrol", "update", f"NodeName={job['NodeList']}", "State=DRAIN", "Reason=t"
                )
                assert new_jobs(slurm, before)[-1]["JobState"] == "RUNNING"
            slurm.call("scancel", job["JobId"])
        said, _ = snakemake.communicate(timeout=120)
    finally:
        snakemake.kill()
        os.close(reader)
    assert snakemake.returncode != 0
    assert "Error in rule profile_workload" in said and "logs/profile/other" in said
    assert len(new_jobs(slurm, before)) == 2
    slurm.call("scontrol", "update", f"NodeName={job['NodeList']}", "State=RESUME")
