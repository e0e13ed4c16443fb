"""The ways of sprinting: on this machine where it lets us, on trees of files where it does not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from real_queue import Gate, queued

from trimtab.errors import UserError
from trimtab.execution.local.dispatch import run_commands
from trimtab.execution.sprinting.choose import find_sprinter
from trimtab.execution.sprinting.core_sprinting import AffinitySprinter, QuotaSprinter
from trimtab.execution.sprinting.frequencies import FrequencySprinter
from trimtab.policies.dias import Dias
from trimtab.processes.control_groups import group_of, make_group, parents_for
from trimtab.processes.execution import Execution

# What Linux shows of one core of an Intel Xeon E5-2680 v3 under acpi-cpufreq.
CPUFREQ = {
    "cpuinfo_min_freq": "1200000",
    "cpuinfo_max_freq": "2500000",
    "scaling_min_freq": "1200000",
    "scaling_max_freq": "2400000",
    "scaling_governor": "ondemand",
    "scaling_available_governors": "conservative ondemand userspace powersave performance",
}


def cpufreq_tree(root: Path, **differences: str) -> Path:
    for cpu in ("cpu0", "cpu1", "cpu10"):
        folder = root / cpu / "cpufreq"
        folder.mkdir(parents=True)
        for name, text in {**CPUFREQ, **differences}.items():
            (folder / name).write_text(f"{text}\n")
    (root / "cpufreq").mkdir()
    (root / "cpuidle").mkdir()
    return root


def read(root: Path, name: str) -> set[str]:
    return {
        (root / cpu / "cpufreq" / name).read_text().strip() for cpu in ("cpu0", "cpu1", "cpu10")
    }


def test_frequencies_are_lowered_raised_and_put_back(tmp_path: Path) -> None:
    root = cpufreq_tree(tmp_path)
    sprinter = FrequencySprinter(root)
    assert sprinter.description == "by frequency: 1200 MHz, sprints at 2400 MHz"
    assert read(root, "scaling_max_freq") == {"2400000"}  # nothing happens before it is entered
    with sprinter:
        assert read(root, "scaling_max_freq") == {"1200000"}
        assert read(root, "scaling_governor") == {"performance"}
        sprinter.sprint()
        assert read(root, "scaling_max_freq") == {"2400000"}
        sprinter.rest()
        assert read(root, "scaling_max_freq") == {"1200000"}
    assert read(root, "scaling_max_freq") == {"2400000"}
    assert read(root, "scaling_governor") == {"ondemand"}


def test_frequencies_are_put_back_after_an_error(tmp_path: Path) -> None:
    root = cpufreq_tree(tmp_path)
    with pytest.raises(KeyboardInterrupt), FrequencySprinter(root):
        raise KeyboardInterrupt
    assert read(root, "scaling_max_freq") == {"2400000"}
    assert read(root, "scaling_governor") == {"ondemand"}


def test_a_governor_allocations_where_there_is_no_other(tmp_path: Path) -> None:
    root = cpufreq_tree(tmp_path, scaling_available_governors="schedutil")
    with FrequencySprinter(root):
        assert read(root, "scaling_governor") == {"ondemand"}


def test_the_lowest_frequency_allowed_is_kept(tmp_path: Path) -> None:
    root = cpufreq_tree(tmp_path, scaling_min_freq="1600000")
    with FrequencySprinter(root):
        assert read(root, "scaling_max_freq") == {"1600000"}


@pytest.mark.parametrize("wrong", ["", "fast"])
def test_broken_cpufreq(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(UserError, match="frequencies cannot be set"):
        FrequencySprinter(cpufreq_tree(tmp_path, scaling_max_freq=wrong))
    with pytest.raises(UserError, match="no cpu\\*/cpufreq"):
        FrequencySprinter(tmp_path / "nothing")


def allowed(pid: int) -> list[int]:
    """Return how many CPUs each thread of a process may use."""
    return [
        len(os.sched_getaffinity(int(thread.name)))
        for thread in Path(f"/proc/{pid}/task").iterdir()
    ]


THREADS = """
import os, sys, threading
said, go = sys.argv[1:]
halt = threading.Event()
ready = threading.Barrier(3)
for _ in range(2):
    threading.Thread(target=lambda: (ready.wait(), halt.wait()), daemon=True).start()
ready.wait()
os.system("sleep 1000 & echo $! > " + said)
open(said, "w").write(f"{os.getpid()}\\n")
open(go).readline()
"""


@pytest.fixture
def affinity() -> AffinitySprinter:
    try:
        return AffinitySprinter()
    except UserError as error:
        pytest.skip(str(error))


def test_every_thread_of_every_process_gets_the_cores(
    tmp_path: Path, affinity: AffinitySprinter
) -> None:
    """Threads and a child in the background, normally on one core, in a sprint on all."""
    gate = Gate(tmp_path, "job")
    command = (sys.executable, "-S", "-c", THREADS, *gate.command[-2:])
    everything = len(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    with affinity:
        execution = Execution(
            affinity.wrap(command), dict(os.environ), tmp_path / "out", tmp_path / "err"
        )
        affinity.attach(execution)
        child, parent = gate.hear(), gate.hear()
        assert allowed(parent) == [1, 1, 1]
        assert allowed(child) == [1]
        affinity.sprint()
        assert allowed(parent) == [everything] * 3
        assert allowed(child) == [everything]
        affinity.rest()
        assert allowed(parent) == [1, 1, 1]
        gate.let_go()
        execution.end()
    assert os.sched_getaffinity(0) == before


@pytest.fixture
def quota() -> QuotaSprinter:
    try:
        return QuotaSprinter(make_group("cpu"))
    except UserError as error:
        pytest.skip(str(error))


def limit(group: Path) -> str:
    """Return the group's CPU quota as the kernel tells it."""
    name = "cpu.max" if (group / "cpu.max").exists() else "cpu.cfs_quota_us"
    return (group / name).read_text().split()[0]


def test_a_sprint_lifts_the_quota_of_the_job(tmp_path: Path, quota: QuotaSprinter) -> None:
    group, gate = quota._group, Gate(tmp_path, "job")
    limits: list[str] = []

    def look(_time_s: float, event: str, _job: int) -> None:
        if event in ("started", "sprints"):
            limits.append(limit(group))
        if event == "sprints":
            assert str(gate.hear()) in (group / "cgroup.procs").read_text().split()
            gate.let_go()

    run_commands(
        [queued(0, 0, gate.command)],
        Dias(timeout_s={"class0": 0.0}),
        log_dir=tmp_path / "log",
        on_event=look,
        sprinter=quota,
    )
    assert limits[0] == "100000"
    assert limits[1] in ("max", "-1")
    assert not group.exists()


def test_a_daemon_of_the_job_is_in_the_group_too(quota: QuotaSprinter) -> None:
    with quota:
        wrapped = quota.wrap(("sh", "-c", "setsid cat /proc/self/cgroup"))
        told = subprocess.run(wrapped, capture_output=True, text=True, check=True).stdout
        assert f"/{quota._group.name}\n" in told
        quota.sprint()
        quota.rest()
        assert limit(quota._group) == "100000"


class Ended:
    """A job one of whose processes has ended and was not waited for."""

    def __init__(self) -> None:
        self.alive = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.ended = subprocess.Popen(["true"])
        os.waitid(os.P_PID, self.ended.pid, os.WEXITED | os.WNOWAIT)

    def processes(self) -> list[subprocess.Popen[bytes]]:
        return [self.alive, self.ended]


def test_a_running_job_joins_the_group_and_returns(quota: QuotaSprinter) -> None:
    job = Ended()
    home = group_of(job.alive.pid, quota._group)
    with quota:
        quota.attach(job)
        assert group_of(job.alive.pid, quota._group) == quota._group
    assert group_of(job.alive.pid, home) == home
    assert not quota._group.exists()
    job.alive.communicate()
    job.ended.wait()


def test_the_words_of_version_two(tmp_path: Path) -> None:
    """This machine may have version 1 only: the file's format is cgroup-v2.rst's."""
    (tmp_path / "cpu.max").write_text("max 100000\n")
    sprinter = QuotaSprinter(tmp_path)
    sprinter.rest()
    assert (tmp_path / "cpu.max").read_text() == "100000 100000"
    sprinter.sprint()
    assert (tmp_path / "cpu.max").read_text() == "max"


def test_where_a_group_may_be_made_in_version_two(tmp_path: Path) -> None:
    """A user's session of systemd: the slice hands cpu down, the scope of the shell does not."""
    own = "user.slice/user-1000.slice/user@1000.service/app.slice/shell.scope"
    (tmp_path / own).mkdir(parents=True)
    for folder, controllers in {
        "": "cpuset cpu io memory pids",
        "user.slice": "cpu memory pids",
        "user.slice/user-1000.slice": "cpu memory pids",
        "user.slice/user-1000.slice/user@1000.service": "cpu memory pids",
        "user.slice/user-1000.slice/user@1000.service/app.slice": "memory pids",
        own: "",
    }.items():
        (tmp_path / folder / "cgroup.subtree_control").write_text(f"{controllers}\n")
    mounts = f"proc /proc proc rw 0 0\ncgroup2 {tmp_path} cgroup2 rw,nsdelegate 0 0\n"
    parents = list(parents_for("cpu", mounts, f"0::/{own}\n"))
    assert [str(parent.relative_to(tmp_path)) for parent in parents] == [
        "user.slice/user-1000.slice/user@1000.service",
        "user.slice/user-1000.slice",
        "user.slice",
        ".",
    ]


def test_where_a_group_may_be_made_in_version_one(tmp_path: Path) -> None:
    mounts = f"cgroup {tmp_path} cgroup rw,cpu,cpuacct 0 0\ncgroup /m cgroup rw,memory 0 0\n"
    parents = list(parents_for("cpu", mounts, "4:memory:/a\n3:cpu,cpuacct:/box/job\n"))
    assert parents == [tmp_path / "box/job", tmp_path / "box", tmp_path]
    with pytest.raises(UserError, match="no control group can be made"):
        make_group("cpu", f"cgroup {tmp_path} cgroup rw,cpu 0 0\n", "3:cpu:/box\n")
    assert list(tmp_path.iterdir()) == []


def test_this_machine_says_how_it_sprints() -> None:
    try:
        sprinter = find_sprinter()
    except UserError as error:
        assert "no way to sprint" in str(error)
        return
    with sprinter:
        assert sprinter.description.startswith("by ")
        sprinter.sprint()
