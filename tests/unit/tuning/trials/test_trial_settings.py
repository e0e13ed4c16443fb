"""What a trial is given of the machine, seen from inside it and from beside it."""

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from trial_programs import LIMIT_S, NOTHING, end_of, epoch_of, is_gone, start, workload

from trimtab.errors import UserError
from trimtab.execution.sprinting.frequencies import HighestFrequencies
from trimtab.processes.control_groups import make_group
from trimtab.processes.memory_limit import GroupMemory, ProcessMemory
from trimtab.profiling.meters.hardware_counters import CounterEvent, HardwareCounters
from trimtab.tuning.trials.clock import TrialClock
from trimtab.tuning.trials.events import EndReason
from trimtab.tuning.trials.settings import SystemSettings, TrialMachine

CPUS = tuple(sorted(os.sched_getaffinity(0)))
several_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU only")

# Threads, a child in the session, one in a session of its own, and a daemon; all of them live on.
FAMILY = """
import os, threading, time
import trimtab_trial
event, (ready, told) = threading.Event(), os.pipe()
def branch(*, leave):
    if not os.fork():
        if leave:
            os.setsid()
            if os.fork():
                os._exit(0)
        threading.Thread(target=event.wait, daemon=True).start()
        os.write(told, b".")
        time.sleep(1000)
for _ in range(2):
    threading.Thread(target=event.wait, daemon=True).start()
branch(leave=False)
branch(leave=True)
os.wait()  # for the one that the daemon left behind
assert os.read(ready, 1) + os.read(ready, 1) == b".."
for epoch in range(100):
    trimtab_trial.epoch_end(epoch)
"""


def affinities(processes: list[int]) -> list[set[int]]:
    """The CPUs of every thread of the processes."""
    return [
        os.sched_getaffinity(int(thread))
        for process in processes
        for thread in os.listdir(f"/proc/{process}/task")
    ]


def family_of(trial) -> list[int]:  # type: ignore[no-untyped-def]
    return [process.pid for process in trial.processes()]


@several_cpus
def test_all_threads_of_a_trial_and_its_children_get_the_cpus_and_nobody_else(
    tmp_path: Path,
) -> None:
    first, last, both = {CPUS[0]}, {CPUS[-1]}, {CPUS[0], CPUS[-1]}
    on_first = SystemSettings(cpus=(CPUS[0],))
    with (
        start(workload(FAMILY), tmp_path / "one", settings=on_first) as trial,
        start(workload(FAMILY), tmp_path / "other", settings=on_first) as other,
    ):
        epoch_of(trial), epoch_of(other)
        family, relatives = family_of(trial), family_of(other)
        assert len(family) == len(relatives) == 3
        assert affinities(family) == [first] * 7
        for cpus in (both, last, first, last):
            change = trial.answer(SystemSettings(cpus=tuple(cpus)))
            assert change.not_set == {} and change.cost_s > 0
            assert epoch_of(trial).not_set == {}
            assert family_of(trial) == family  # no restart
            assert affinities(family) == [cpus] * 7
            assert affinities(relatives) == [first] * 7
            assert set(map(frozenset, affinities([os.getpid()]))) == {frozenset(CPUS)}
        trial.answer(NOTHING)  # leaves it as it is
        epoch_of(trial)
        assert affinities(family) == [last] * 7
    assert all(is_gone(process) for process in family + relatives)


def test_cpus_that_are_not_there_are_told_and_the_training_goes_on(tmp_path: Path) -> None:
    none = SystemSettings(cpus=(4095,))
    with start(workload(FAMILY), tmp_path / "trial", settings=none) as trial:
        assert set(trial.change.not_set) == set(epoch_of(trial).not_set) == {"cores"}
        change = trial.answer(SystemSettings(cpus=(CPUS[0], 4095)))
        assert f"it may use {CPUS[0]} only" in change.not_set["cores"]
        assert epoch_of(trial).not_set == change.not_set
        assert trial.answer(SystemSettings(cpus=(CPUS[0],))).not_set == {}
        assert epoch_of(trial).not_set == {}


def test_what_the_program_is_told_and_starts_with(tmp_path: Path) -> None:
    """Threads of pools: of PyTorch and threadpoolctl where they are loaded, here stand-ins."""
    code = """
import os, sys, types
import trimtab_trial as t
variables = [os.environ.get(name) for name in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")]
assert variables == ["2", "0,3"], variables
assert t.first_epoch() == 0 and t.settings() == {"threads": 2, "loader_workers": 5}
assert t.epoch_end(0) == {"threads": 3, "loader_workers": 5}
set_to = []
sys.modules["torch"] = types.SimpleNamespace(set_num_threads=set_to.append)
assert t.epoch_end(1) == {"threads": 4, "loader_workers": 0}
pools = types.SimpleNamespace(threadpool_limits=lambda limits: set_to.append(-limits))
sys.modules["threadpoolctl"] = pools
t.epoch_end(2)
assert set_to == [4, 1, -1], set_to
pools.threadpool_limits = lambda limits: 1 / 0
t.epoch_end(3)
t.epoch_end(4)
"""
    settings = SystemSettings(threads=2, loader_workers=5, gpus=("0", "3"))
    with start(workload(code), tmp_path / "trial", settings=settings) as trial:
        told = []
        for answer in (
            SystemSettings(threads=3), SystemSettings(threads=4, loader_workers=0),
            SystemSettings(threads=1, gpus=("1",)), SystemSettings(threads=1), NOTHING,
        ):  # fmt: skip
            told.append(dict(epoch_of(trial).not_set))
            trial.answer(answer)
        assert end_of(trial).reason == EndReason.FINISHED
    missing = "neither torch nor threadpoolctl is loaded by the program"
    assert told == [
        {},  # it began with as many
        {"threads": missing},
        {},
        {"gpus": "a program has the GPUs that it started with: pause and resume it"},
        {"threads": "ZeroDivisionError: division by zero"},
    ]


HUNGRY = """
import trimtab_trial
held = []
for epoch in range(100):
    held.append(b"x" * (64 << 20))
    trimtab_trial.epoch_end(epoch, held=len(held))
"""
MIB = 1 << 20


@pytest.fixture(params=["group", "process"])
def limited_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "process":
        alone = partial(ProcessMemory, "no group here")
        monkeypatch.setattr("trimtab.tuning.trials.settings.memory_limit", alone)
    else:
        try:
            make_group("memory").rmdir()
        except UserError as error:
            pytest.skip(str(error))
    return str(request.param)


def test_the_limit_of_memory_ends_a_trial_and_is_told(tmp_path: Path, limited_by: str) -> None:
    settings = SystemSettings(memory_bytes=300 * MIB)
    with start(workload(HUNGRY), tmp_path / "trial", settings=settings) as trial:
        assert trial.change.not_set == {}
        way = "by a control group" if limited_by == "group" else "RLIMIT_DATA.*no group here"
        assert re.search(way, trial.change.ways["memory_gib"])
        end = end_of(trial)
    assert end.reason == EndReason.OUT_OF_MEMORY
    assert ("its limit of memory" in end.message) == (limited_by == "group")
    assert 2 <= end.epochs <= 4
    assert end.exit_code == (-9 if limited_by == "group" else 1)


def test_the_limit_of_memory_moves_between_epochs(tmp_path: Path, limited_by: str) -> None:
    settings = SystemSettings(memory_bytes=4000 * MIB)
    with start(workload(HUNGRY), tmp_path / "trial", settings=settings) as trial:
        for _ in range(3):
            epoch_of(trial)
            trial.answer(NOTHING)
        epoch_of(trial)  # 256 MiB are held
        too_little = trial.answer(SystemSettings(memory_bytes=100 * MIB))
        assert "the trial holds" in too_little.not_set["memory_gib"]
        assert epoch_of(trial).not_set == too_little.not_set
        assert trial.answer(SystemSettings(memory_bytes=600 * MIB)).not_set == {}
        end = end_of(trial)
        assert end.reason == EndReason.OUT_OF_MEMORY and 7 <= end.epochs <= 9


def test_a_limit_that_comes_later_counts_what_is_held(tmp_path: Path) -> None:
    """A control group would not."""
    with start(workload(HUNGRY), tmp_path / "trial") as trial:
        for _ in range(3):
            epoch_of(trial)
            change = trial.answer(SystemSettings(memory_bytes=400 * MIB))
            assert "began without a limit" in change.ways["memory_gib"]
        end = end_of(trial)
        assert end.reason == EndReason.OUT_OF_MEMORY and 4 <= end.epochs <= 6


def test_children_are_limited_with_the_trial(tmp_path: Path, limited_by: str) -> None:
    of = workload(
        "import os\nif child := os.fork(): raise SystemExit(5 if os.waitpid(child, 0)[1] else 0)\n"
        "b'x' * (400 << 20)"
    )
    with start(of, tmp_path / "trial", settings=SystemSettings(memory_bytes=300 * MIB)) as trial:
        end = end_of(trial)
    assert (end.reason, end.exit_code) == (EndReason.OUT_OF_MEMORY, 5)


def test_no_group_is_left(tmp_path: Path) -> None:
    try:
        group = make_group("memory")
    except UserError as error:
        pytest.skip(str(error))
    ours = f"trimtab-{os.getpid()}-*"  # not those of tests beside this one
    GroupMemory(group).close()
    before = set(group.parent.glob(ours))
    settings = SystemSettings(memory_bytes=300 * MIB)
    with start(workload("0"), tmp_path / "trial", settings=settings) as trial:
        assert len(set(group.parent.glob(ours)) - before) == 1
        end_of(trial)
    assert not list(group.parent.glob(ours))


def test_the_words_of_version_two(tmp_path: Path) -> None:
    """This machine may have version 1 only: the files' formats are cgroup-v2.rst's."""
    for name, text in {
        "memory.max": "max\n", "memory.swap.max": "max\n", "cgroup.procs": "",
        "memory.stat": "anon 209715200\nfile 4096\n",
        "memory.events": "low 0\nhigh 0\nmax 7\noom 1\noom_kill 0\noom_group_kill 0\n",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text)

    class Job:
        def processes(self) -> list[object]:
            return []

    limit = GroupMemory(tmp_path)
    assert (tmp_path / "memory.swap.max").read_text() == "0"
    limit.set(Job(), 300 * MIB)
    assert (tmp_path / "memory.max").read_text() == str(300 * MIB)
    with pytest.raises(UserError, match="the trial holds 209715200 bytes"):
        limit.set(Job(), 100 * MIB)
    assert (tmp_path / "memory.max").read_text() == str(300 * MIB)
    assert not limit.oom_killed()
    (tmp_path / "memory.events").write_text("oom 2\noom_kill 1\n")
    assert limit.oom_killed()


def cpufreq(root: Path) -> Path:
    for cpu in (0, 1, 2):
        folder = root / f"cpu{cpu}/cpufreq"
        folder.mkdir(parents=True)
        for name, khz in (("cpuinfo_min", 800_000), ("cpuinfo_max", 3_000_000),
                          ("scaling_max", 2_900_000)):  # fmt: skip
            (folder / f"{name}_freq").write_text(f"{khz}\n")
    return root


def limits(root: Path) -> list[int]:
    return [int((root / f"cpu{cpu}/cpufreq/scaling_max_freq").read_text()) for cpu in (0, 1, 2)]


def test_the_frequency_of_a_trials_cores_alone(tmp_path: Path) -> None:
    frequencies = HighestFrequencies(cpufreq(tmp_path), tmp_path / "found")
    frequencies.limit((1, 2), 1200.5)
    assert limits(tmp_path) == [2_900_000, 1_200_500, 1_200_500]
    frequencies.limit((1,), 2000)
    for mhz in (799, 3001):
        with pytest.raises(UserError, match="expected 800 to 3000 MHz"):
            frequencies.limit((0,), mhz)
    with pytest.raises(UserError, match="frequencies cannot be set"):
        frequencies.limit((7,), 1000)
    frequencies.restore()
    assert limits(tmp_path) == [2_900_000] * 3


def test_the_frequency_moves_with_the_cores(tmp_path: Path) -> None:
    class Job:
        def processes(self) -> list[object]:
            return []

    machine = TrialMachine(Job())
    machine._frequencies = HighestFrequencies(cpufreq(tmp_path), tmp_path / "found")
    assert (
        "give the trial some"
        in machine.start(SystemSettings(frequency_mhz=1000)).not_set["frequency_mhz"]
    )
    assert machine.change(SystemSettings(cpus=(0,), frequency_mhz=1000)).not_set == {}
    assert limits(tmp_path) == [1_000_000, 2_900_000, 2_900_000]
    assert machine.change(SystemSettings(cpus=(1, 2))).not_set == {}
    assert limits(tmp_path) == [2_900_000, 1_000_000, 1_000_000]
    machine.close()
    assert limits(tmp_path) == [2_900_000] * 3


LOWERS = """
import os, signal, sys
from pathlib import Path
from trimtab.execution.sprinting.frequencies import HighestFrequencies
root = Path(sys.argv[1])
frequencies = HighestFrequencies(root, root / "found")
frequencies.limit((1, 2), 1000)
frequencies.limit((1,), 2000)
print("lowered", flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_frequency_that_a_killed_tuner_has_lowered_is_written_back(tmp_path: Path) -> None:
    root = cpufreq(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", LOWERS, str(root)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as killed:  # fmt: skip
        assert killed.stdout is not None and killed.stdout.readline() == "lowered\n"
        assert limits(root) == [2_900_000, 2_000_000, 1_000_000]
        other = HighestFrequencies(root, root / "found")
        assert limits(root) == [2_900_000, 2_000_000, 1_000_000], "whose tuner lives"
        other.limit((0,), 800)
        killed.communicate("die\n")
    assert limits(root) == [800_000, 2_000_000, 1_000_000]
    HighestFrequencies(root, root / "found")
    assert limits(root) == [800_000, 2_900_000, 2_900_000]
    other.restore()
    assert limits(root) == [2_900_000] * 3 and list((root / "found").iterdir()) == []


def test_settings_of_a_configuration() -> None:
    configuration = {
        "model.dropout": 0.1, "system.cores": 2, "system.memory_gib": 0.5, "system.gpus": 1,
        "system.frequency_mhz": 1200, "system.loader_workers": 0,
    }  # fmt: skip
    settings = SystemSettings.of(configuration, cpus=(4, 5, 6), gpus=("GPU-a", "GPU-b"))
    assert settings == SystemSettings((4, 5), 2, 512 * MIB, 1200.0, ("GPU-a",), 0)
    assert settings.for_program == {"threads": 2, "loader_workers": 0}
    assert SystemSettings.of({**configuration, "system.threads": 7}, (4, 5), ("0",)).threads == 7
    assert SystemSettings.of({"model.dropout": 0.1}, ()) == SystemSettings()
    with pytest.raises(UserError, match=r"system\.cores: 2: there are 1 for this trial"):
        SystemSettings.of(configuration, (0,))


def test_time_in_which_a_program_waits_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    clock = TrialClock(now, limit_s=10, patience_s=5)
    now = 109.0
    assert (clock.epoch_ends(8.5), clock.epoch_ends(9.5), clock.is_over) == (8.5, 9.0, False)
    now = 500.0
    assert not clock.is_over and clock.next_at == float("inf")
    clock.epoch_begins()
    assert clock.waiting_s == 391 and clock.next_at == 501 and not clock.is_over
    now = 501.0
    assert clock.is_over and not clock.patience_is_over
    clock.has_to_end()
    now = 504.0
    clock.has_to_end()
    assert clock.next_at == 501 and not clock.patience_is_over
    now = 506.0
    assert clock.patience_is_over


TOUCHES = """
import mmap, trimtab_trial
trimtab_trial.first_epoch()
for epoch in range(2):
    held = mmap.mmap(-1, {pages} * 4096)
    for page in range({pages}):
        held[page * 4096] = 1
    trimtab_trial.epoch_end(epoch)
"""


def test_an_epoch_has_the_counters_of_its_own_trial_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted by perf, of which page faults (software, 2) are there on every machine."""
    faults = [CounterEvent("cycles", 1, 2)]
    with HardwareCounters(faults) as tried:
        if tried.missing:
            pytest.skip(tried.missing)
    counters = partial(HardwareCounters, faults)
    names = {"enabled_ns": 0.0, "running_ns": 0.0}
    monkeypatch.setattr("trimtab.tuning.trials.running.HardwareCounters", counters)
    monkeypatch.setattr(
        "trimtab.tuning.trials.counting._NAMES", ("cpu_s", "minor_faults", "cycles", *names)
    )
    with (
        start(workload(TOUCHES.format(pages=300)), tmp_path / "one") as trial,
        start(workload(TOUCHES.format(pages=3000)), tmp_path / "other") as other,
    ):
        for _ in range(2):
            few, many = epoch_of(trial).counters, epoch_of(other).counters
            for name in ("cycles", "minor_faults"):
                assert 300 <= few[name] < 1000 and 3000 <= many[name] < 4000, (name, few, many)
            trial.answer(NOTHING), other.answer(NOTHING)


def test_the_start_sets_the_cpus_before_the_program_runs(tmp_path: Path) -> None:
    code = "import os; print(sorted(os.sched_getaffinity(0)))"
    settings = SystemSettings(cpus=(CPUS[-1],))
    with start(workload(code), tmp_path / "trial", settings=settings) as trial:
        assert trial.next_event(LIMIT_S).reason == EndReason.FINISHED
    assert (tmp_path / "trial/from_epoch_0.stdout").read_text() == f"[{CPUS[-1]}]\n"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU")
def test_a_program_that_bound_itself_stays_where_it_is(tmp_path: Path) -> None:
    first, second = sorted(os.sched_getaffinity(0))[:2]
    code = f"""
import os, trimtab_trial
os.sched_setaffinity(0, [{first}])
trimtab_trial.epoch_end(0, accuracy=1)
trimtab_trial.epoch_end(1, accuracy=1)
"""
    with start(workload(code), tmp_path) as trial:
        epoch_of(trial)
        # As it is where OpenMP came first, and the settings' own change after it.
        late, both = TrialMachine(trial), SystemSettings(cpus=(first, second))
        assert late.start(both, began_on=[first, second]).not_set == {}
        assert os.sched_getaffinity(trial.pid) == {first}
        assert late.start(both, began_on=[first]).not_set == {}  # it was not started on both
        assert os.sched_getaffinity(trial.pid) == {first, second}
