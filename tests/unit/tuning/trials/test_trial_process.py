"""A trial from its start to its end: epochs, answers, pauses, and every way to fail."""

import os
import re
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from trial_programs import (
    LIMIT_S,
    NOTHING,
    end_of,
    ended,
    epoch_of,
    is_gone,
    marks,
    start,
    training,
    workload,
)

from trimtab.config.groups.workload import ServerConfig
from trimtab.errors import UserError
from trimtab.processes.marks import PipeReader
from trimtab.tuning.trials.events import EndReason, EpochEnd, TrialEnded
from trimtab.tuning.trials.settings import SystemSettings
from trimtab.tuning.trials.waiting import next_events

SLEEP = "import time; time.sleep(1000)"
HUNG = f"import trimtab_trial; trimtab_trial.first_epoch(); {SLEEP}"


def weight_of(folder: Path) -> str:
    return (folder / "weight.txt").read_text()


def test_every_epoch_is_told_and_the_end(tmp_path: Path) -> None:
    with start(training(workdir=str(tmp_path)), tmp_path / "trial") as trial:
        for number in range(3):
            event = epoch_of(trial)
            assert (event.epoch, event.waits) == (number, True)
            assert event.metrics["accuracy"] == 1 - 1 / (2 + number)
            assert 0 <= event.wall_s < LIMIT_S and event.cpu_s >= 0
            assert trial.pending() is None  # until it is answered
            trial.answer(NOTHING)
        end = end_of(trial)
    assert (end.reason, end.exit_code, end.epochs) == (EndReason.FINISHED, 0, 3)
    assert not end.reason.is_failure
    assert end.start_up_s is not None and 0 < end.start_up_s < end.wall_s
    assert end.peak_rss_bytes > 1 << 20 and end.cpu_s > 0
    # To the last bit: 17 digits say a number of 64 bits.
    assert repr(event.metrics["weight"]) == weight_of(tmp_path)


def test_a_trial_that_is_paused_at_each_rung_ends_as_one_that_is_not(tmp_path: Path) -> None:
    whole, paused = tmp_path / "whole", tmp_path / "paused"
    for folder in (whole, paused):
        folder.mkdir()
    end_of(start(training(workdir=str(whole), parameters={"epochs": 9, "result": "weight.txt"}),
                 whole / "trial"))  # fmt: skip
    of, told = training(workdir=str(paused)), []
    for rung in (1, 3, 9):
        parameters = {"epochs": 9 if rung != 3 else 3}  # stopped, or at the end of what it was told
        with start(of, paused / "trial", parameters=parameters, resume=rung > 1) as trial:
            while isinstance(event := trial.next_event(LIMIT_S), EpochEnd):
                told.append(event.epoch)
                if event.epoch + 1 == rung == 1:
                    trial.stop()
                else:
                    trial.answer(NOTHING)
            assert isinstance(event, TrialEnded)
            assert event.reason == (EndReason.STOPPED if rung == 1 else EndReason.FINISHED)
            assert event.exit_code == 0
    assert told == list(range(9))
    assert weight_of(paused) == weight_of(whole)


def test_a_trial_whose_tuner_gave_no_answer_repeats_that_epoch_alone(tmp_path: Path) -> None:
    """As where it was killed: the checkpoint of the epoch before is gone on from."""
    with start(training(workdir=str(tmp_path)), tmp_path / "trial") as trial:
        epoch_of(trial)
        trial.answer(NOTHING)
        before = epoch_of(trial)
    with start(training(workdir=str(tmp_path)), tmp_path / "trial", resume=True) as trial:
        again = epoch_of(trial)
        assert (again.epoch, again.metrics) == (before.epoch, before.metrics) == (1, again.metrics)
        trial.answer(NOTHING)
        assert end_of(trial).epochs == 2


def test_a_trial_that_is_not_resumed_begins_anew(tmp_path: Path) -> None:
    for _ in range(2):
        with start(training(workdir=str(tmp_path)), tmp_path / "trial") as trial:
            assert epoch_of(trial).epoch == 0
            assert [path.name for path in (tmp_path / "trial/checkpoint").iterdir()] == ["1.json"]
            trial.answer(NOTHING)
            epoch_of(trial)


def test_without_a_tuner_a_program_trains_as_ever(tmp_path: Path) -> None:
    module = Path(__file__).parents[4] / "src"
    subprocess.run(
        [sys.executable, "-c", training().command[-1], "--epochs", "3", "--result", "weight.txt"],
        env={**os.environ, "PYTHONPATH": str(module)}, cwd=tmp_path, check=True,
    )  # fmt: skip
    alone = weight_of(tmp_path)
    end_of(start(training(workdir=str(tmp_path)), tmp_path / "trial"))
    assert weight_of(tmp_path) == alone


def test_its_module_loads_nothing_that_a_slim_environment_may_lack(tmp_path: Path) -> None:
    code = """
import os, sys
before, entry = set(sys.modules), os.environ["PYTHONPATH"].split(":")[0]
assert os.listdir(entry) == ["trimtab_trial.py"], os.listdir(entry)
for name in set(sys.stdlib_module_names) - before:
    sys.modules[name] = None
import trimtab_trial
trimtab_trial.epoch_end(0, **{'lo"s\\s\u00e4': 0.1})
assert trimtab_trial.settings() == {}
assert {name for name in set(sys.modules) - before if sys.modules[name]} == {"trimtab_trial"}
"""
    with start(workload(code, "-B"), tmp_path / "trial") as trial:
        assert epoch_of(trial).metrics == {'lo"s\\sä': 0.1}
        trial.answer(NOTHING)
        end = end_of(trial)
        assert end.reason == EndReason.FINISHED, (
            tmp_path / "trial/from_epoch_0.stderr"
        ).read_text()


@pytest.mark.parametrize(
    ("code", "reason", "message"),
    [
        ("1 / 0", EndReason.FAILED, "exit code 1: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", EndReason.FAILED, "ended with exit code 3"),
        ("import os; os.abort()", EndReason.CRASHED, "signal 6 (SIGABRT)"),
        ("bytearray(1 << 60)", EndReason.OUT_OF_MEMORY, "was refused memory; .*MemoryError"),
        ("import trimtab_trial as t; t.epoch_end(0, loss=float('nan'))", EndReason.NOT_A_NUMBER,
         "epoch 0: loss is nan"),
        ("import trimtab_trial as t; t.epoch_end(0, a=1, b=-1e999)", EndReason.NOT_A_NUMBER,
         "epoch 0: b is -inf"),
        ("import trimtab_trial as t; t.epoch_end(1)", EndReason.BROKEN_PROTOCOL,
         "the end of epoch 1, expected 0"),
        ("import trimtab_trial as t; t.epoch_end(0); t.epoch_end(0)", EndReason.BROKEN_PROTOCOL,
         "the end of epoch 0, expected 1"),
        ("import trimtab_trial as t; t.epoch_end(0, loss='low')", EndReason.FAILED, "ValueError"),
        ("import trimtab_trial as t; t.epoch_end(0, loss=None)", EndReason.FAILED, "TypeError"),
        ("import os, trimtab_trial as t; t.first_epoch(); p = os.fork(); t.epoch_end(0);"
         "os.wait() if p else 0", EndReason.FINISHED, "exit code 0"),
    ],
)  # fmt: skip
def test_an_end_has_its_reason(tmp_path: Path, code: str, reason: EndReason, message: str) -> None:
    end = ended(code, tmp_path / "trial")
    assert end.reason == reason
    assert re.search(message.replace("(", "[(]").replace(")", "[)]"), end.message)
    assert "\n" not in end.message
    assert end.reason.is_failure == (reason != EndReason.FINISHED)


def test_an_exit_code_that_the_workload_expects_is_no_failure(tmp_path: Path) -> None:
    assert ended("raise SystemExit(3)", tmp_path, ends_with="3").reason == EndReason.FINISHED
    assert ended("0", tmp_path, ends_with="3").reason == EndReason.FAILED


def test_sigkill_from_elsewhere(tmp_path: Path) -> None:
    with start(training(workdir=str(tmp_path)), tmp_path / "trial") as trial:
        epoch_of(trial)
        os.kill(trial.pid, signal.SIGKILL)
        end = trial.next_event(LIMIT_S)  # while it waits for an answer
        assert isinstance(end, TrialEnded)
        assert (end.reason, end.exit_code, end.epochs) == (EndReason.CRASHED, -9, 1)
        assert "signal 9 (SIGKILL)" in end.message
        trial.answer(NOTHING)  # too late, and no error
        trial.stop()
        trial.kill()
        assert trial.next_event(LIMIT_S) is None


def test_one_that_hangs_is_killed_after_its_time_limit(tmp_path: Path) -> None:
    with start(workload(HUNG), tmp_path / "trial", timeout_s=0.4) as trial:
        assert trial.next_event(0.0) is None
        end = trial.next_event(LIMIT_S)
    assert isinstance(end, TrialEnded)
    assert (end.reason, end.exit_code) == (EndReason.TIMED_OUT, -9)
    assert end.message == "was killed after its time limit of 0.4 s"
    assert end.wall_s >= 0.4
    assert is_gone(trial.pid)


def test_the_workload_has_a_time_limit_too(tmp_path: Path) -> None:
    assert ended(HUNG, tmp_path / "trial", timeout_s=0.3).reason == EndReason.TIMED_OUT


def test_killing_it(tmp_path: Path) -> None:
    with start(workload(HUNG), tmp_path / "trial") as trial:
        trial.kill()
        end = trial.next_event(LIMIT_S)
        assert (
            isinstance(end, TrialEnded) and end.reason == EndReason.KILLED and end.exit_code == -9
        )
    with pytest.raises(KeyError), start(workload(HUNG), tmp_path / "trial") as trial:
        raise KeyError
    assert is_gone(trial.pid)


STUBBORN = """
import sys, time, trimtab_trial
try:
    trimtab_trial.epoch_end(0)
except SystemExit:
    {then}
"""


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        ("time.sleep(1000)", EndReason.STOPPED),
        ("sys.exit(3)", EndReason.STOPPED),
        ("trimtab_trial.epoch_end(1); time.sleep(1000)", EndReason.BROKEN_PROTOCOL),
    ],
)
def test_one_that_is_told_to_stop_and_does_not(
    tmp_path: Path, then: str, reason: EndReason, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimtab.tuning.trials.process._PATIENCE_S", 0.3)
    with start(workload(STUBBORN.format(then=then)), tmp_path / "trial") as trial:
        epoch_of(trial)
        trial.stop()
        assert end_of(trial).reason == reason
        assert is_gone(trial.pid)


CHILDREN = """
import os, sys, time, trimtab_trial
trimtab_trial.first_epoch()
if not os.fork():  # in the session, without an environment, the channel open
    os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(1000)"], {})
between = os.fork()
if not between:
    os.setsid()
    if not os.fork():  # a daemon, with the environment
        time.sleep(1000)
    os._exit(0)
os.waitpid(between, 0)
if not os.fork():  # forked, the channel open
    time.sleep(1000)
trimtab_trial.epoch_end(0)
"""


def test_children_that_keep_the_channel_open_do_not_keep_it_from_ending(tmp_path: Path) -> None:
    with start(workload(CHILDREN), tmp_path / "trial") as trial:
        epoch_of(trial)
        children = [process.pid for process in trial.processes() if process.pid != trial.pid]
        assert len(children) == 3
        # As where numbers are used again that were another's when the trial began.
        members = trial._running._members
        members._strangers |= {*children}
        members._members = {trial.pid: members._members[trial.pid]}
        assert [process.pid for process in trial.processes()] == [trial.pid]
        trial.answer(NOTHING)
        end = trial.next_event(LIMIT_S)
        assert isinstance(end, TrialEnded) and end.reason == EndReason.FINISHED
        assert all(is_gone(child) for child in children)


def test_several_are_waited_for_at_once(tmp_path: Path) -> None:
    """One hangs meanwhile, and one fails."""
    trials = {}
    for name, of in {
        "one": training(workdir=str(tmp_path)),
        "two": training(workdir=str(tmp_path)),
        "hung": workload(HUNG),
        "failed": workload("1 / 0"),
    }.items():
        trials[name] = start(of, tmp_path / name)
    told: dict[str, list[int | EndReason]] = {name: [] for name in trials}
    running = dict(trials)
    while set(running) != {"hung"}:
        for trial, event in next_events(list(running.values()), LIMIT_S):
            name = next(name for name in trials if trials[name] is trial)
            if isinstance(event, EpochEnd):
                told[name].append(event.epoch)
                trial.answer(NOTHING)
            else:
                told[name].append(event.reason)
                del running[name]
    assert told == {
        "one": [0, 1, 2, EndReason.FINISHED],
        "two": [0, 1, 2, EndReason.FINISHED],
        "failed": [EndReason.FAILED],
        "hung": [],
    }
    assert next_events([trials["hung"]], 0.01) == []
    trials["hung"].kill()
    assert next_events([trials["hung"]])[0][1].reason == EndReason.KILLED
    assert next_events(list(trials.values())) == []


def test_programs_report_by_marks_where_they_cannot_load_the_module(tmp_path: Path) -> None:
    """Where it is not installed, and PYTHONPATH is not seen; epochs are told without waiting."""
    code = "\n".join(
        ["try: import trimtab_trial", "except ImportError: pass", "else: 1 / 0",
         "for n in (1, 2): print(f'epoch {n} loss {1 / n}')"]
    )  # fmt: skip
    of = workload(code, "-I", "-S", marks=marks(r"^epoch \d loss (?P<loss>\S+)"))
    with start(of, tmp_path / "trial") as trial:
        events = [epoch_of(trial), epoch_of(trial)]
        end = end_of(trial)
    assert [(event.epoch, event.waits, event.metrics) for event in events] == [
        (0, False, {"loss": 1.0}), (1, False, {"loss": 0.5})
    ]  # fmt: skip
    assert all(event.wall_s >= 0 for event in events)
    assert (end.reason, end.epochs) == (EndReason.FINISHED, 2)
    said = (tmp_path / "trial/from_epoch_0.stdout").read_text()
    assert said == "epoch 1 loss 1.0\nepoch 2 loss 0.5\n"


@pytest.mark.parametrize(
    ("said", "reason"), [("nan", EndReason.NOT_A_NUMBER), ("low", EndReason.BROKEN_PROTOCOL)]
)
@pytest.mark.parametrize("then", ["time.sleep(1000)", "0"])
def test_marks_that_say_no_number(tmp_path: Path, said: str, reason: EndReason, then: str) -> None:
    code = f"import time; print('loss {said}', flush=True); {then}"
    end = ended(code, tmp_path / "trial", "-I", marks=marks(r"loss (?P<loss>\S+)"))
    assert end.reason == reason and "loss" in end.message


def test_who_waits_for_a_program_that_speaks_is_not_woken_by_what_it_prints(tmp_path: Path) -> None:
    code = """
import trimtab_trial
for epoch in range(2):
    print("epoch", epoch, flush=True)
    trimtab_trial.epoch_end(epoch, accuracy=1.0)
"""
    with start(workload(code, marks=marks("^epoch")), tmp_path / "trial") as trial:
        epoch_of(trial)
        while not trial._running.take_marks().epoch_ends_s:
            pass
        os.eventfd_write(trial._running.news_fd, 1)  # as a mark does
        poll = select.poll()
        for descriptor in trial.filenos():
            poll.register(descriptor, select.POLLIN)
        assert poll.poll(0) == [], "it waits for an answer: nothing can have happened"


def test_a_program_that_reports_itself_may_print_what_looks_like_marks(tmp_path: Path) -> None:
    """Also where it says nothing to us before its first epoch has ended."""
    code = "import trimtab_trial as t\nfor n in (0, 1): print('epoch', flush=True); t.epoch_end(n)"
    with start(workload(code, marks=marks("^epoch")), tmp_path / "trial") as trial:
        assert [epoch_of(trial).waits, trial.answer(NOTHING) and epoch_of(trial).waits] == [1, 1]
        trial.answer(NOTHING)
        assert end_of(trial).epochs == 2


def test_one_that_reports_by_marks_cannot_be_paused(tmp_path: Path) -> None:
    code = f"print('epoch', flush=True); {SLEEP}"
    with start(workload(code, "-I", marks=marks("^epoch")), tmp_path / "trial") as trial:
        assert not epoch_of(trial).waits
        assert set(trial.answer(SystemSettings(threads=1)).not_set) == {"threads"}
        trial.stop()
        assert end_of(trial).reason == EndReason.KILLED


def test_without_a_checkpoint_it_begins_again(tmp_path: Path) -> None:
    """Else a program that keeps none would be taken for one trained for longer than it is."""
    code = """
import trimtab_trial
for epoch in range(trimtab_trial.first_epoch(), 3):
    trimtab_trial.epoch_end(epoch, accuracy=0.5)
"""
    for resume in (False, True):
        with start(workload(code), tmp_path / "trial", resume=resume) as trial:
            assert [epoch_of(trial).epoch, trial.first_epoch] == [0, 0]
            trial.answer(NOTHING)
            assert epoch_of(trial).epoch == 1
            trial.stop()
            end_of(trial)


def test_what_cannot_be_started(tmp_path: Path) -> None:
    server = workload("0", server=ServerConfig(drive=["true"], ready="."))
    with pytest.raises(UserError, match="a server is no trial"):
        start(server, tmp_path / "trial")
    with pytest.raises(UserError, match="workdir"):
        start(workload("0", workdir=str(tmp_path / "none")), tmp_path / "trial")
    folder = tmp_path / "damaged"
    (folder / "checkpoint" / "1").mkdir(parents=True)
    for text in ("", "[]", "{}", '{"next_epoch": -1}', '{"next_epoch": true}', "1" * 2000):
        (folder / "progress.json").write_text(text)
        with pytest.raises(UserError, match=r"progress\.json"):
            start(workload("0"), folder, resume=True)


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """No descriptor, no thread, no child that nobody waited for."""
    ended("0", tmp_path / "first")
    before = sorted(os.listdir("/proc/self/fd"))
    children = {one.pid for one in psutil.Process().children()}  # of other tests
    for code in ("0", "1 / 0", "import trimtab_trial as t; t.epoch_end(5)"):
        ended(code, tmp_path / "trial", marks=marks("epoch"))
    with pytest.raises(UserError):
        start(workload("0", workdir="/none"), tmp_path / "trial")
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert not [one for one in threading.enumerate() if isinstance(one, PipeReader)]
    assert {one.pid for one in psutil.Process().children()} <= children


SCRIPT = """
import sys
from contextlib import nullcontext
from pathlib import Path
sys.path.insert(0, {tests!r})
from trial_programs import start, workload
from trimtab.processes.supervision import supervised
with supervised() if {supervise} else nullcontext():
    trial = start(workload({code!r}), Path(sys.argv[1]))
    event = trial.next_event()
    print(*[one.pid for one in trial.processes()], flush=True)
    sys.stdin.read()
"""


def tuner(folder: Path, code: str, *, supervise: bool) -> tuple[subprocess.Popen[str], list[int]]:
    """A tuner in a process of its own, with a trial one of whose epochs has ended."""
    script = SCRIPT.format(tests=str(Path(__file__).parent), code=code, supervise=supervise)
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    return process, [int(word) for word in process.stdout.readline().split()]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_supervised_tuner(tmp_path: Path, number: signal.Signals) -> None:
    process, pids = tuner(tmp_path / "trial", CHILDREN, supervise=True)
    with process:
        assert len(pids) == 4
        watched = [os.pidfd_open(pid) for pid in pids]
        process.send_signal(number)
        for descriptor in watched:
            assert select.select([descriptor], [], [], 2.0)[0]
            os.close(descriptor)


def test_a_program_that_waits_hears_that_its_tuner_has_ended(tmp_path: Path) -> None:
    process, (pid,) = tuner(
        tmp_path / "trial", "import trimtab_trial as t; t.epoch_end(0)", supervise=False
    )
    with process:
        process.kill()
        assert is_gone(pid)
    said = (tmp_path / "trial/from_epoch_0.stderr").read_text()
    assert said == "trimtab_trial: the tuner has ended\n"


def test_a_program_without_the_tuner_that_its_environment_names(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import trimtab_trial as t; t.epoch_end(0)"],
        env={**os.environ, "TRIMTAB_TRIAL": str(tmp_path / "gone"),
             "PYTHONPATH": str(Path(__file__).parents[4] / "src")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("trimtab_trial: TRIMTAB_TRIAL=") and "no tuner" in done.stderr
