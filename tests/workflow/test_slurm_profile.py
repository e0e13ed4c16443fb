"""The workflow on a real Slurm: what jobs ask for, what becomes of those that are ended."""

import os
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from project import NOTHING_TO_DO, TINY, Project, make_environment, tools

from trimtab.clusters.cluster import Cluster, Level, NodeType
from trimtab.execution.slurm.cluster import SlurmCluster, why_not
from trimtab.execution.slurm.configuration import slurm_conf
from trimtab.files import read_json

pytestmark = pytest.mark.xdist_group("slurm profile")  # beside what drives another Slurm
NODE = NodeType("node", 2000, 64 << 30, 1.0, (Level(1.0, 1.0),))
# As of profiles/slurm, but for the times after which Slurm is asked how jobs are.
SNAKEMAKE = (
    "snakemake", "--profile", "profiles/slurm", "--slurm-init-seconds-before-status-checks", "1",
    "--seconds-between-status-checks", "1", "--latency-wait", "5",
    "--slurm-status-command", "squeue",  # this Slurm has no accounting
)  # fmt: skip
MEMORY = """\
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
"""
USAGE = "results/profile/other/test_machine/usage.json"
SUMMARIES = [
    f"results/schedule/pair/tiny_jobs/{name}/summary.json" for name in ("fcfs", "non_preemptive")
]


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    """Two nodes with the cores of the test's machine."""
    if find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip(
            "Snakemake's plugin for Slurm is missing: pip install snakemake-executor-plugin-slurm"
        )
    if reason := why_not():
        pytest.skip(reason)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("trimtab.execution.slurm.cluster.slurm_conf", watching_memory)
        with SlurmCluster(Cluster((NODE,), (2,))) as cluster:
            yield cluster


def watching_memory(folder: Path, host: str, ports: Sequence[int], cluster: Cluster) -> str:
    """A slurm.conf by which jobs that take more memory than they asked for are ended.

    Clusters have control groups for that, which a container may not make: it looks every second.
    """
    none = "JobAcctGatherType=jobacct_gather/none\n"
    conf = slurm_conf(folder, host, ports, cluster)
    assert none in conf
    return conf.replace(none, MEMORY)


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


@pytest.mark.nightly
def test_a_project_that_takes_the_workflow_has_its_jobs_there_too(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    before = jobs_of(slurm)
    make_environment(tmp_path / "environment")
    shutil.copy(TINY / "program.py", tmp_path)
    words = "--output", "m.json", "--", "environment/bin/python", "program.py"
    Project(tmp_path).succeed("trimtab", "new", "mine", *words, "--output", "m.json")
    project = Project(tmp_path / "mine")
    parameters = project.folder / "params.yaml"
    small = "experiment=mine, profiling.repeats=1, profiling.traced_runs=1"
    parameters.write_text(f"overrides: [{small}]\n")
    done = project.run(*SNAKEMAKE, "--", "profile", **reaching(slurm))
    assert done.returncode == 0, done.stdout
    [job] = new_jobs(slurm, before)  # and what has nothing to do is none
    assert job["JobState"] == "COMPLETED" and job["OverSubscribe"] == "NO"
    assert job["NumCPUs"] == "2" and job["MinMemoryNode"] == "8590M"


def test_short_rules_are_one_job(project: Project, slurm: SlurmCluster) -> None:
    before = jobs_of(slurm)
    here = reaching(slurm)
    done = project.run(*SNAKEMAKE, "--forcerun", "make_trace", "--", *SUMMARIES, **here)
    assert done.returncode == 0, done.stdout
    [job] = new_jobs(slurm, before)
    assert job["JobState"] == "COMPLETED"


@contextmanager
def begun(
    project: Project, slurm: SlurmCluster, *words: str, **environment: str
) -> Iterator[tuple[subprocess.Popen[str], Callable[[], None]]]:
    """Run Snakemake beside; yields it, and what waits until a program of its jobs has begun.

    That goes on when `TINY_GO` in the project's folder is opened to be written, and never ends
    where the `environment` does not name it.
    """
    fifo = project.folder / "started"
    os.mkfifo(fifo)
    # To write too, so that no end of the first attempt is read in place of the second one's words.
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    snakemake = subprocess.Popen(
        [str(Path(sys.executable).parent / SNAKEMAKE[0]), *SNAKEMAKE[1:], *words],
        cwd=project.folder,
        env={**tools(), **reaching(slurm), **environment, "TINY_STARTED": str(fifo)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )

    def wait() -> None:
        assert select.select([reader], [], [], 180)[0], "no program has begun"
        assert os.read(reader, 7) == b"started"

    try:
        yield snakemake, wait
    finally:
        snakemake.kill()
        os.close(reader)


@pytest.fixture
def go(project: Project) -> Path:
    """What programs that have begun wait for to be opened."""
    fifo = project.folder / "go"
    os.mkfifo(fifo)
    return fifo


@pytest.mark.nightly
def test_a_job_that_is_ended_asks_for_more_and_fails_with_its_log_in_the_end(
    project: Project, slurm: SlurmCluster
) -> None:
    """The first attempt is cancelled; the node of the second one is drained, which it outlives."""
    before = jobs_of(slurm)
    words = "--retries", "1", "--forcerun", "profile_workload", "--", USAGE
    with begun(project, slurm, *words) as (snakemake, wait):
        for attempt in (1, 2):
            wait()
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
    assert snakemake.returncode != 0
    assert "Error in rule profile_workload" in said and "logs/profile/other" in said
    assert len(new_jobs(slurm, before)) == 2
    slurm.call("scontrol", "update", f"NodeName={job['NodeList']}", "State=RESUME")


@pytest.mark.parametrize("by", ["memory", pytest.param("time", marks=pytest.mark.nightly)])
def test_a_job_that_comes_to_its_limit_is_tried_again_with_more(
    project: Project, slurm: SlurmCluster, go: Path, by: str
) -> None:
    """It takes more memory than it has asked for first; or its time ends in a second."""
    before = jobs_of(slurm)
    with (project.folder / "conf/workload/other.yaml").open("a") as workload:
        workload.write("memory_gib: 1\n")
    given = {"TINY_GO": str(go), "TINY_MIB": "1200" if by == "memory" else "0"}
    words = "--forcerun", "profile_workload", "--", USAGE
    with begun(project, slurm, *words, **given) as (snakemake, wait):
        wait()
        [first] = new_jobs(slurm, before)
        if by == "time":
            # Slurm's limits are whole minutes, but their end may be any second.
            slurm.call("scontrol", "update", f"JobId={first['JobId']}", "EndTime=now+1")
        wait()
        held = os.open(go, os.O_RDWR)
        said, _ = snakemake.communicate(timeout=180)
        os.close(held)
    assert snakemake.returncode == 0, said
    ended, second = new_jobs(slurm, before)
    # What watches memory ends the job's step, so that the job is told to have failed.
    assert ended["JobState"] == {"memory": "FAILED", "time": "TIMEOUT"}[by]
    reason = {"memory": "exceeded memory limit", "time": "DUE TO TIME LIMIT"}[by]
    assert ended["StdOut"] in said and reason in Path(ended["StdOut"]).read_text()
    assert second["JobState"] == "COMPLETED"
    assert [first["MinMemoryNode"], second["MinMemoryNode"]] == ["1074M", "2148M"]
    assert [first["TimeLimit"], second["TimeLimit"]] == ["00:15:00", "00:30:00"]
    assert "Error in rule profile_workload" in said and "logs/profile/other" in said


@pytest.mark.nightly
def test_machines_that_share_a_search_have_a_node_each_at_the_same_time(
    project: Project, slurm: SlurmCluster, go: Path
) -> None:
    """Each of two has a trial, and waits in it: neither begins when the other one has ended."""
    before = jobs_of(slurm)
    shutil.rmtree(project.folder / "results/tune")
    shared = 'overrides=["experiment.tune.machines=2"]'
    words = "tune", "--config", shared
    with begun(project, slurm, *words, TINY_GO=str(go)) as (snakemake, wait):
        wait()
        wait()
        jobs = new_jobs(slurm, before)
        assert [job["JobState"] for job in jobs] == ["RUNNING", "RUNNING"]
        assert len({job["NodeList"] for job in jobs}) == 2
        held = os.open(go, os.O_RDWR)
        said, _ = snakemake.communicate(timeout=180)
        os.close(held)
    assert snakemake.returncode == 0, said
    assert {job["JobState"] for job in new_jobs(slurm, before)} == {"COMPLETED"}
    machines = project.folder / "results/tune/random_search/tuned/test_machine/none/machines"
    trained = [read_json(machines / f"seed_1_{machine}.json") for machine in (1, 2)]
    assert [len(one["trials_and_rungs"]) for one in trained] == [1, 1]
