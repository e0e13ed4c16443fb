"""A real Slurm comes up as described, moves jobs, and leaves nothing behind."""

from pathlib import Path

import pytest

from trimtab.clusters.cluster import Cluster
from trimtab.errors import TrimtabError, UserError
from trimtab.execution.slurm import cluster as slurm_cluster
from trimtab.execution.slurm import jobs
from trimtab.execution.slurm.cluster import SlurmCluster
from trimtab.processes.stat import read_stat

from real_queue import Gate, alive  # isort: skip


def script(gate: Gate) -> str:
    name, option, text, said, go = gate.command
    return f"#!/bin/bash\nexec {name} {option} '{text}' {said} {go}\n"


def test_the_nodes_are_as_described(slurm: SlurmCluster) -> None:
    told = slurm.call("sinfo", "-hN", "--format=%N %T %c %m")
    assert sorted(told.splitlines()) == [
        "fast-1 idle 4 8192",
        "fast-2 idle 4 8192",
        "slow-arm-1 idle 2 4096",
    ]


def test_a_job_starts_where_it_is_sent_moves_and_starts_again(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    """Held, started on a node, stopped and started there again, then on another: three starts."""
    gate = Gate(tmp_path, "job")
    job = jobs.submit(slurm, script(gate), cores=2, memory_bytes=1 << 30)
    assert jobs.show(slurm, job)["Reason"] == "JobHeldUser"
    jobs.start_on(slurm, job, "fast-2")
    first = gate.hear()
    assert jobs.show(slurm, job)["NodeList"] == "fast-2"
    jobs.stop(slurm, job)
    jobs.start_on(slurm, job, "fast-1")
    second = gate.hear()
    assert not alive(first)
    assert jobs.show(slurm, job)["NodeList"] == "fast-1"
    jobs.stop(slurm, job)
    jobs.start_on(slurm, job, "slow-arm-1")
    third = gate.hear()
    assert not alive(second)
    assert jobs.show(slurm, job)["NodeList"] == "slow-arm-1"
    gate.let_go()
    jobs.wait_for(slurm, job, "COMPLETED")
    assert not alive(third)


def test_what_slurm_refuses_is_said(slurm: SlurmCluster) -> None:
    with pytest.raises(TrimtabError, match=r"show job 999999: .*Invalid job id"):
        jobs.show(slurm, 999999)


def test_everything_is_stopped(needs_slurm: None, nodes: Cluster, tmp_path: Path) -> None:
    """Also when the block ends by an error, with a job that does not mind SIGTERM."""
    gate = Gate(tmp_path, "job", before='trap "" TERM')
    with pytest.raises(KeyboardInterrupt), SlurmCluster(nodes) as cluster:
        folder = cluster.folder
        jobs.start_on(cluster, jobs.submit(cluster, script(gate)), "fast-1")
        job = gate.hear()
        daemons = [daemon.pid for daemon in cluster._daemons.values()]
        assert len(daemons) == 2 + len(cluster.nodes)
        step = read_stat(job)
        assert step is not None
        raise KeyboardInterrupt
    assert not any(map(alive, [*daemons, job, step.parent]))
    assert not folder.exists()


def test_a_wrong_configuration_is_told_from_the_log(
    needs_slurm: None, nodes: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = slurm_cluster.slurm_conf
    folders: list[Path] = []

    def wrong(folder: Path, *arguments: object) -> str:
        folders.append(folder)
        text = right(folder, *arguments)  # type: ignore[arg-type]
        return text.replace("select/cons_tres", "select/no_such_thing")

    monkeypatch.setattr(slurm_cluster, "slurm_conf", wrong)
    cluster = SlurmCluster(nodes)
    with pytest.raises(TrimtabError, match=r"(?s)ended with 1; its log ends:.*no_such_thing"):
        cluster.__enter__()
    assert not folders[0].exists()
    assert all(daemon.returncode is not None for daemon in cluster._daemons.values())


def test_without_slurm(nodes: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm_cluster, "_DAEMONS", ("no-such-daemon",))
    with pytest.raises(UserError, match=r"no-such-daemon.* missing: run `make deps-slurm`"):
        SlurmCluster(nodes).__enter__()
