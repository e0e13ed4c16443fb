"""DiAS on real commands: what runs when, what is evicted, and that nothing is left behind."""

import itertools
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from real_queue import Gate, alive, queued

from trimtab.errors import UserError
from trimtab.execution.history import JobOutcome
from trimtab.execution.job_queue import QueuedJob
from trimtab.execution.local.dispatch import run_commands
from trimtab.execution.sprinting.sprinter import Sprinter
from trimtab.policies.base import Policy
from trimtab.policies.dias import Dias
from trimtab.policies.priority import Priority
from trimtab.processes.ending import living
from trimtab.processes.execution import CANNOT_START
from trimtab.profiling.meters.active_energy import ActiveEnergyMeter
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.records.parquet.files import read_table, write_table
from trimtab.records.tables import ALLOCATIONS, SCHEDULED

HARDWARE = HardwareModel("test_machine", 2, 2.0, 10.0, 0.5, 4.0, 0.2, "a test")
NP, P = Priority(), Priority("repeat")
BURN = "import time\nwhile time.process_time() < 0.3: pass"


class Log:
    """Notes every event, and does what a test wants done when one comes."""

    def __init__(self, then: dict[tuple[str, int], list[Callable[[], object]]] | None = None):
        self.events: list[tuple[str, int]] = []
        self.then = then or {}

    def __call__(self, time_s: float, event: str, job: int) -> None:
        assert time_s >= 0
        self.events.append((event, job))
        if actions := self.then.get((event, job)):
            actions.pop(0)()

    def of(self, kind: str) -> list[int]:
        return [job for event, job in self.events if event == kind]


def nothing() -> None:
    return None


def run(folder: Path, jobs: list[QueuedJob], policy: Policy, log: Log | None = None) -> JobOutcome:
    return run_commands(jobs, policy, log_dir=folder / "log", on_event=log or Log())


def raise_interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("priorities", [[0, 1, 0, 1, 0], [2, 0, 1, 1, 2, 0], [1, 1, 1]])
def test_by_priority_and_in_turn_within_one(tmp_path: Path, priorities: list[int]) -> None:
    jobs = [queued(job, priority) for job, priority in enumerate(priorities)]
    log = Log()
    outcome = run(tmp_path, jobs, NP, log)
    expected = sorted(range(len(jobs)), key=lambda job: (-priorities[job], job))
    assert log.of("started") == expected
    assert outcome.jobs["job"].tolist() == expected
    assert set(outcome.exit_codes.values()) == {0}


def test_without_preemption_the_running_job_goes_on(tmp_path: Path) -> None:
    low = Gate(tmp_path, "low")
    jobs = [queued(0, 0, low.command), queued(1, 1, arrival_s=0.01)]
    log = Log({("started", 0): [low.hear], ("arrived", 1): [low.let_go]})
    outcome = run(tmp_path, jobs, NP, log)
    assert log.events == [
        ("arrived", 0),
        ("started", 0),
        ("arrived", 1),
        ("finished", 0),
        ("started", 1),
        ("finished", 1),
    ]
    assert outcome.jobs["evictions"].sum() == 0
    assert outcome.jobs["wasted_s"].sum() == 0


def test_an_evicted_job_starts_again_before_its_like(tmp_path: Path) -> None:
    """Job 0 is evicted by job 2, and runs again before job 1, which waits in the same buffer."""
    began = tmp_path / "began"
    low = Gate(tmp_path, "low", before=f"echo x >> {began}")
    jobs = [queued(0, 0, low.command), queued(1, 0, arrival_s=0.01), queued(2, 1, arrival_s=0.02)]

    def second_time() -> None:
        low.hear()
        low.let_go()

    log = Log({("started", 0): [low.hear, second_time]})
    outcome = run(tmp_path, jobs, P, log)
    assert log.of("started") == [0, 2, 0, 1]
    assert log.of("evicted") == [0]
    assert began.read_text() == "x\nx\n"
    row = outcome.jobs.set_index("job").loc[0]
    first, second = (
        allocation
        for allocation in outcome.allocations.itertuples()
        if allocation.job == 0 and allocation.end != "level"
    )
    assert (first.end, second.end) == ("evicted", "finished")
    assert row.evictions == 1
    assert row.wasted_s == first.end_s - first.start_s > 0
    assert row.execution_s == second.end_s - second.start_s
    assert row.response_s == row.finish_s - row.arrival_s >= row.wasted_s + row.execution_s


def test_equal_priority_never_evicts(tmp_path: Path) -> None:
    first = Gate(tmp_path, "first")
    jobs = [queued(0, 1, first.command), queued(1, 1, arrival_s=0.01)]
    log = Log({("started", 0): [first.hear], ("arrived", 1): [first.let_go]})
    run(tmp_path, jobs, P, log)
    assert log.of("evicted") == []
    assert log.of("finished") == [0, 1]


def test_a_job_that_has_just_ended_is_not_evicted(tmp_path: Path) -> None:
    """It ends while the high job arrives: running it again would repeat what it did."""
    low = Gate(tmp_path, "low")
    pids: list[int] = []

    def end_now() -> None:
        low.let_go()
        os.waitid(os.P_PID, pids[0], os.WEXITED | os.WNOWAIT)

    jobs = [queued(0, 0, low.command), queued(1, 1, arrival_s=0.01)]
    log = Log({("started", 0): [lambda: pids.append(low.hear())], ("arrived", 1): [end_now]})
    outcome = run(tmp_path, jobs, P, log)
    assert log.of("started") == [0, 1]
    assert outcome.jobs["evictions"].sum() == 0


HIDING = {
    "child": "sleep 1000 & p=$!",
    "child in a session of its own": "setsid sleep 1000 & p=$!",
    "orphan in a session of its own": "p=$( (setsid sh -c 'echo $$; exec sleep 1000 >&-' &) )",
}


@pytest.mark.parametrize("way", HIDING)
@pytest.mark.parametrize("end", ["evicted", "finished", "interrupted"])
def test_the_whole_tree_goes(tmp_path: Path, way: str, end: str) -> None:
    tell = tmp_path / "low.said"
    low = Gate(tmp_path, "low", before=f"{HIDING[way]}\necho $p > {tell}")
    hidden: list[int] = []
    jobs = [queued(0, 0, low.command)]

    def hear() -> None:
        hidden.append(low.hear())
        assert alive(hidden[-1])
        hidden.append(low.hear())
        if end == "finished":
            low.let_go()
        if end == "interrupted":
            raise KeyboardInterrupt

    def hear_again() -> None:
        hear()
        low.let_go()

    then: dict[tuple[str, int], list[Callable[[], object]]] = {("started", 0): [hear, hear_again]}
    if end == "interrupted":
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, jobs, P, Log(then))
    elif end == "finished":
        run(tmp_path, jobs, P, Log(then))
    else:
        jobs.append(queued(1, 1, arrival_s=0.01))
        then["evicted", 0] = [lambda: hidden.append(0 if any(map(alive, hidden)) else -1)]
        run(tmp_path, jobs, P, Log(then))
        assert hidden[2] == -1, "evicted, but not all of its processes were dead"
    assert not any(alive(pid) for pid in hidden if pid > 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_nothing_behind(tmp_path: Path, number: int) -> None:
    gate = Gate(tmp_path, "job")
    program = f"""
import sys
from pathlib import Path
from trimtab.execution.local.dispatch import *
from trimtab.policies.priority import Priority
job = QueuedJob(0, "only", 0, 0.0, {gate.command!r})
run_commands([job], Priority(), log_dir=Path({str(tmp_path / "log")!r}))
"""
    queue = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    job = gate.hear()
    assert alive(job)
    queue.send_signal(number)
    assert queue.wait(30) != 0
    assert not alive(job)


def test_failures_are_reported_and_the_rest_runs(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    jobs = [
        queued(0, 0, ("sh", "-c", "echo what is wrong >&2; exit 3")),
        queued(1, 0, ("sh", "-c", "kill -SEGV $$")),
        queued(2, 0, (str(broken),)),
        queued(3, 0),
    ]
    log = Log()
    outcome = run(tmp_path, jobs, NP, log)
    assert outcome.exit_codes == {0: 3, 1: -signal.SIGSEGV, 2: CANNOT_START, 3: 0}
    assert outcome.allocations["end"].tolist() == ["failed", "failed", "failed", "finished"]
    assert log.of("failed") == [0, 1, 2]
    assert (tmp_path / "log/0.stderr").read_text() == "what is wrong\n"
    assert (
        "interpreter" in (tmp_path / "log/2.stderr").read_text()
        or "No such file" in (tmp_path / "log/2.stderr").read_text()
    )


def test_the_drop_ratio_reaches_the_command(tmp_path: Path) -> None:
    show = ("sh", "-c", "echo $TRIMTAB_DROP_RATIO")
    policy = Dias(drop_ratio={"class0": 0.2})
    run(tmp_path, [queued(0, 0, show), queued(1, 1, show)], policy)
    ratios = [float((tmp_path / f"log/{job}.stdout").read_text()) for job in (0, 1)]
    assert ratios == [0.2, 0.0]


class RecordingSprinter(Sprinter):
    """Speeds nothing up and notes what was asked."""

    description, normal_milli, sprint_milli = "not at all", 1000, 2000

    def __init__(self) -> None:
        self.asked: list[str] = []

    def sprint(self) -> None:
        self.asked.append("sprint")

    def rest(self) -> None:
        self.asked.append("rest")

    def restore(self) -> None:
        self.asked.append("restore")


def test_a_sprint_ends_with_its_budget_and_the_job_goes_on(tmp_path: Path) -> None:
    gate, sprinter = Gate(tmp_path, "job"), RecordingSprinter()
    log = Log({("rests", 0): [gate.let_go]})
    policy = Dias(timeout_s={"class0": 0.02}, budget_s=0.05)
    outcome = run_commands(
        [queued(0, 0, gate.command), queued(1, 0)],
        policy,
        log_dir=tmp_path / "log",
        on_event=log,
        sprinter=sprinter,
    )
    assert [event for event, job in log.events if job == 0] == [
        "arrived",
        "started",
        "sprints",
        "rests",
        "finished",
    ]
    assert sprinter.asked == ["rest", "sprint", "rest", "restore"]
    allocations = outcome.allocations[outcome.allocations["job"] == 0]
    assert allocations["level"].tolist() == [0, 1, 0]
    assert allocations["end"].tolist() == ["level", "level", "finished"]
    assert allocations["cpu_milli"].tolist() == [1000, 2000, 1000]
    assert allocations["start_s"].tolist()[1:] == allocations["end_s"].tolist()[:-1]
    first, second = outcome.jobs.itertuples()
    assert first.sprint_s >= 0.05  # a clock rings late, never early
    assert first.start_s + 0.02 <= allocations["end_s"].iloc[0]
    assert first.execution_s == pytest.approx(first.finish_s - first.start_s)
    assert second.sprint_s == 0  # nothing is left of the budget
    assert outcome.sprinter == "not at all"


def test_the_timer_is_ignored_when_the_job_ends_sooner(tmp_path: Path) -> None:
    sprinter = RecordingSprinter()
    policy = Dias(timeout_s={"class0": 1000.0})
    run_commands([queued(0, 0), queued(1, 1)], policy, log_dir=tmp_path / "log", sprinter=sprinter)
    assert sprinter.asked == ["rest", "restore"]


def test_an_eviction_ends_the_sprint(tmp_path: Path) -> None:
    """The low job sprints at once; the high one, which never does, must not find it so."""
    low, sprinter = Gate(tmp_path, "low"), RecordingSprinter()
    policy = Priority("repeat")
    policy.timeout_s = {"class0": 0.0}

    def finish() -> None:
        low.hear()
        low.let_go()

    log = Log({("sprints", 0): [low.hear, finish]})
    run_commands(
        [queued(0, 0, low.command), queued(1, 1, arrival_s=0.2)],
        policy,
        log_dir=tmp_path / "log",
        on_event=log,
        sprinter=sprinter,
    )
    kinds = [event for event in log.events if event[0] != "arrived"]
    assert kinds == [
        ("started", 0),
        ("sprints", 0),
        ("evicted", 0),
        ("started", 1),
        ("finished", 1),
        ("started", 0),
        ("sprints", 0),
        ("finished", 0),
    ]
    assert sprinter.asked == ["rest", "sprint", "rest", "sprint", "rest", "restore"]


def test_modelled_energy_follows_the_cpu_time(tmp_path: Path) -> None:
    """Of child processes too; an eviction's joules are not forgotten."""
    if "modelled" not in ActiveEnergyMeter(HARDWARE).method:
        pytest.skip("this machine has a meter")
    w_per_core = (HARDWARE.busy_w - HARDWARE.idle_w) / HARDWARE.cores
    burn = f'{shlex.quote(sys.executable)} -S -c "{BURN}"'
    low = Gate(tmp_path, "low", before=burn)

    def finish() -> None:
        low.hear()
        low.let_go()

    outcome = run_commands(
        [queued(0, 0, low.command), queued(1, 1, arrival_s=0.01)],
        P,
        log_dir=tmp_path / "log",
        on_event=Log({("started", 0): [low.hear, finish]}),
        hardware=HARDWARE,
    )
    energy_j = outcome.jobs.set_index("job")["energy_j"]
    assert energy_j[0] >= 2 * 0.3 * w_per_core
    assert energy_j[0] <= 2 * 1.0 * w_per_core  # the processes' start, and no idle power
    assert energy_j[1] < 0.3 * w_per_core
    assert outcome.energy == "modelled, power of test_machine"


def test_without_power_figures_the_joules_are_unknown(tmp_path: Path) -> None:
    outcome = run(tmp_path, [queued(0, 0)], NP)
    if outcome.energy == "unknown":
        assert outcome.jobs["energy_j"].isna().all()
    else:
        assert (outcome.jobs["energy_j"] >= 0).all()


def test_the_tables_are_the_schemas(tmp_path: Path) -> None:
    outcome = run(tmp_path, [queued(0, 0), queued(1, 1)], NP)
    for schema, frame in ((SCHEDULED, outcome.jobs), (ALLOCATIONS, outcome.allocations)):
        path = tmp_path / "table.parquet"
        write_table(path, schema, frame)
        assert len(read_table(path, schema)) == 2


JOB = st.tuples(st.integers(0, 2), st.floats(0, 0.03))


@settings(max_examples=12)
@given(
    drawn=st.lists(JOB, min_size=1, max_size=7),
    preemptive=st.booleans(),
)
def test_no_job_is_lost_and_one_runs_at_a_time(
    drawn: list[tuple[int, float]], preemptive: bool
) -> None:
    jobs = [queued(job, priority, arrival_s=at) for job, (priority, at) in enumerate(drawn)]
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(Path(folder), jobs, P if preemptive else NP)
    assert sorted(outcome.jobs["job"]) == list(range(len(jobs)))
    assert (outcome.allocations["end"] == "finished").sum() == len(jobs)
    assert preemptive or not outcome.jobs["evictions"].any()
    assert (outcome.jobs["start_s"] >= outcome.jobs["arrival_s"]).all()
    ordered = outcome.allocations.sort_values("start_s")
    for before, after in itertools.pairwise(ordered.itertuples()):
        assert before.end_s <= after.start_s
    for _, row in outcome.jobs.iterrows():
        total_s = row["wasted_s"] + row["execution_s"]
        own = outcome.allocations[outcome.allocations["job"] == row["job"]]
        assert total_s == pytest.approx((own["end_s"] - own["start_s"]).sum())


@pytest.mark.parametrize(
    ("jobs", "words"),
    [
        ([queued(0, 0), queued(0, 0)], "job 0: there are two"),
        ([queued(0, 0, arrival_s=-1.0)], "arrival_s: -1.0"),
        ([queued(0, 0, arrival_s=float("nan"))], "arrival_s: nan"),
        ([queued(0, 0, ())], "command is empty"),
        ([queued(0, 0), queued(1, 0, ("no-such-program-here",))], "job 1: command: no-such"),
    ],
)
def test_wrong_jobs_stop_everything(tmp_path: Path, jobs: list[QueuedJob], words: str) -> None:
    log = Log()
    with pytest.raises(UserError, match=words):
        run(tmp_path, jobs, NP, log)
    assert log.events == []


def test_marks_are_whole_entries() -> None:
    """A mark that is the beginning of another entry must not find (and kill) its process."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, env={"MARK": "abcdef"}) as other:
        assert [stat.pid for stat in living("MARK=abcdef")] == [other.pid]
        assert living("MARK=abc") == []
        assert living("ARK=abcdef") == []
