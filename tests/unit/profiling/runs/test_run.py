"""Measured runs of real programs whose cost is known in advance."""

import json
import os
import sys
from pathlib import Path

import pandas as pd
import pytest

from trimtab.config.groups.output import Output, OutputComparison
from trimtab.config.groups.workload import Marks
from trimtab.errors import UserError
from trimtab.processes.program import Program
from trimtab.profiling.meters.os_counters import OS_COUNTERS
from trimtab.profiling.meters.power_model import HardwareModel
from trimtab.profiling.runs.interleave import measure_interleaved
from trimtab.profiling.runs.measured import (
    MeasuredRun,
    epochs_table,
    last_lines,
    runs_table,
    with_scores,
)
from trimtab.profiling.runs.run import measure_run
from trimtab.records.parquet.files import read_table, write_table
from trimtab.records.tables import EPOCHS, RUNS

HARDWARE = HardwareModel("test_machine", 2, 2.0, 10.0, 0.5, 4.0, 0.2, "a test")
BURN = """
import time
def burn(s):
    end = time.process_time() + s
    while time.process_time() < end: pass
"""


def measure(folder: Path, code: str, **changes: object) -> MeasuredRun:
    settings: dict[str, object] = {
        "command": (sys.executable, "-u", "-c", code),
        "workdir": folder,
        "environment": {"PATH": "/usr/bin:/bin"},
        "timeout_s": 60.0,
    }
    program = Program(**{**settings, **changes})  # type: ignore[arg-type]
    return measure_run(
        program, condition="original", repeat=0, hardware=HARDWARE, log_dir=folder / "log",
        sample_interval_s=0.1,
    )  # fmt: skip


def test_cpu_time_of_children_and_grandchildren_counts(tmp_path: Path) -> None:
    code = BURN + (
        "import os\nburn(0.3)\n"
        "if not os.fork():\n    burn(0.3)\n    if not os.fork(): burn(0.3); os._exit(0)\n"
        "    os.wait(); os._exit(0)\nos.wait()\n"
    )
    run = measure(tmp_path, code)
    assert run.exit_code == 0 and run.failure is None
    assert 0.9 <= run.counts["cpu_s"] < 1.6


def test_memory_held_by_a_child_at_once_with_its_parent(tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "def hold():\n    held = bytearray(100 << 20)\n    held[::4096] = b'1' * 25600\n"
        "    return held\n"
        "mine = hold()\n"
        "if not os.fork():\n    theirs = hold(); time.sleep(0.5); os._exit(0)\nos.wait()\n"
    )
    run = measure(tmp_path, code)
    assert 200 << 20 <= run.peak_rss_bytes < 300 << 20


def test_a_short_peak_of_a_single_process_is_not_missed(tmp_path: Path) -> None:
    run = measure(tmp_path, "x = bytearray(b'1' * (150 << 20)); del x")
    assert run.peak_rss_bytes >= 150 << 20


EPOCHS_CODE = BURN + (
    "print('first iteration')\nfor i in range(3):\n"
    "    burn(0.2 * (i + 1)); print('epoch', i, 'loss', 1 / (i + 1))\n"
)
MARKS = Marks(first_iteration="^first", epoch=r"^epoch \d loss (?P<loss>\S+)")


def test_epochs_add_up_to_the_run(tmp_path: Path) -> None:
    run = measure(tmp_path, EPOCHS_CODE, marks=MARKS)
    epochs = run.epochs
    assert len(epochs) == 3
    assert epochs["duration_s"].sum() == pytest.approx(run.wall_s)
    for counter in OS_COUNTERS:
        assert epochs[counter].sum() == pytest.approx(run.counts[counter]), counter
    assert epochs["energy_j"].sum() == pytest.approx(run.energy.energy_j)
    assert list(epochs["cpu_s"]) == sorted(epochs["cpu_s"])
    assert run.start_up_s is not None and 0 < run.start_up_s < run.wall_s - 1.0
    assert run.energy.energy_source == "modelled"
    write_table(tmp_path / "runs.parquet", RUNS, runs_table("w", [run]))
    write_table(tmp_path / "epochs.parquet", EPOCHS, epochs_table("w", [run]))
    scores = read_table(tmp_path / "epochs.parquet", EPOCHS)["scores"]
    assert [json.loads(text) for text in scores] == [{"loss": 1 / (i + 1)} for i in range(3)]


def test_energy_by_the_formula(tmp_path: Path) -> None:
    """Idle share, CPU seconds and memory, recomputed from what the run reports."""
    run = measure(tmp_path, BURN + "burn(0.5)")
    idle_and_active = 2.0 * run.wall_s + (10 - 2) / 2 * run.counts["cpu_s"]
    memory_at_most = 0.5 * run.peak_rss_bytes / 2**30 * run.wall_s
    assert idle_and_active <= run.energy.energy_j * (1 + 1e-9)
    assert run.energy.energy_j <= (idle_and_active + memory_at_most) * (1 + 1e-9)
    assert run.energy.energy_low_j == pytest.approx(0.8 * run.energy.energy_j)
    assert run.energy.energy_high_j == pytest.approx(1.2 * run.energy.energy_j)


@pytest.mark.parametrize(
    ("captured", "expected"),
    [
        ({}, None),
        ({"loss": "0.5", "accuracy": "1e-2"}, '{"loss": 0.5, "accuracy": 0.01}'),
        ({"loss": "nan", "steps": "12"}, '{"loss": null, "steps": 12.0}'),
    ],
)
def test_scores_of_an_epoch(captured: dict[str, str], expected: str | None) -> None:
    [scores] = with_scores(pd.DataFrame({"epoch": [0]}), [captured])["scores"]
    assert scores == expected


def test_a_score_that_is_no_number_is_told() -> None:
    with pytest.raises(UserError, match=r"marks\.epoch: loss: 'done' captured, expected a number"):
        with_scores(pd.DataFrame({"epoch": [0]}), [{"loss": "done"}])


def test_marks_in_a_file(tmp_path: Path) -> None:
    code = (
        "import time\n"
        "for line in ('first', 'epoch 1', 'epoch 2'):\n"
        "    open('marks', 'a').write(line + '\\n'); time.sleep(0.1)\n"
    )
    marks = Marks(first_iteration="first", epoch="epoch", file="marks")
    assert len(measure(tmp_path, code, marks=marks).epochs) == 2


def test_without_marks_the_run_is_one_epoch(tmp_path: Path) -> None:
    run = measure(tmp_path, "print('epoch 1')")
    assert len(run.epochs) == 1 and run.start_up_s is None


def test_marks_that_never_come(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"marks\.epoch: no line of standard output"):
        measure(tmp_path, "print('first')", marks=MARKS)


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("print('first'); exit(3)", "ended with exit code 3"),
        ("import os; os.kill(os.getpid(), 11)", r"was ended by signal 11 \(SIGSEGV\)"),
    ],
)
def test_a_run_without_its_marks_says_how_it_ended(tmp_path: Path, code: str, how: str) -> None:
    """Where any end is a good one, as of a first run, a crash is seen by its missing marks."""
    code = f"import sys; print('what went wrong', file=sys.stderr); {code}"
    words = rf"marks\.epoch: no line .*; the original run 0 {how}; see .*stderr\nwhat went wrong$"
    marks = Marks(epoch=MARKS.epoch)
    with pytest.raises(UserError, match=words):
        measure(tmp_path, code, marks=marks, ends_with=None)


def test_a_timeout_ends_grandchildren_too(tmp_path: Path) -> None:
    code = (
        "import os, signal\nif not os.fork():\n    os.setsid()\n    if not os.fork():\n"
        "        open('pid', 'w').write(str(os.getpid()))\n    signal.pause()\nsignal.pause()"
    )
    run = measure(tmp_path, code, timeout_s=1.0)
    assert run.timed_out and "took too long" in str(run.failure)
    stat = Path("/proc", (tmp_path / "pid").read_text(), "stat")
    assert not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"


@pytest.mark.parametrize(
    ("code", "exit_code", "words"),
    [("raise SystemExit(3)", 3, "exit code 3"),
     ("import os; os.kill(os.getpid(), 11)", -11, "signal 11")],
)  # fmt: skip
def test_failures_are_told(tmp_path: Path, code: str, exit_code: int, words: str) -> None:
    run = measure(tmp_path, code)
    assert run.exit_code == exit_code and words in str(run.failure)


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no-such-program"):
        measure(tmp_path, "", command=("no-such-program",))


def test_the_compared_file_is_kept_and_has_to_be_written(tmp_path: Path) -> None:
    output = Output(OutputComparison.DIGEST_FILE, "result")
    first = measure(tmp_path, "open('result', 'w').write('1')", output=output)
    assert first.output is not None and first.output.read_text() == "1"
    with pytest.raises(UserError, match=r"left this file as it was.* run 0 ended with exit code 3"):
        measure(tmp_path, "raise SystemExit(3)", output=output, ends_with=frozenset({3}))
    assert (tmp_path / "result").read_text() == "1"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("os.mkfifo('out')", "no regular file"),
        ("os.symlink('/dev/zero', 'out')", "no regular file"),
        ("os.mkdir('out')", "no regular file"),
        ("os.truncate(os.open('out', os.O_CREAT | os.O_WRONLY), 1 << 40)", "at most 17179869184"),
        ("pass", "did not write this file"),
    ],
)
@pytest.mark.parametrize("compare", [OutputComparison.DIGEST_FILE, OutputComparison.NUMERIC_FILE])
def test_an_output_may_be_anything(
    tmp_path: Path, code: str, words: str, compare: OutputComparison
) -> None:
    with pytest.raises(UserError, match=f"output.path: .*out: .*{words}"):
        measure(tmp_path, f"import os\n{code}", output=Output(compare, "out"))


def test_an_output_may_be_a_link_and_logs_may_not(tmp_path: Path) -> None:
    """A program's latest result is often one."""
    (tmp_path / "log").mkdir()
    (tmp_path / "secret").write_text("a secret")
    (tmp_path / "log/original-0.stderr").symlink_to("../secret")
    os.mkfifo(tmp_path / "log/original-0.stdout")
    code = "import os\nopen('run-3', 'w').write('3')\nos.symlink('run-3', 'out')\nprint('said')"
    run = measure(tmp_path, code, output=Output(OutputComparison.DIGEST_FILE, "out"))
    assert run.output is not None and run.output.read_text() == "3"
    assert run.stdout.read_text() == "said\n"
    assert (tmp_path / "secret").read_text() == "a secret"


def test_of_a_long_log_the_end_is_told(tmp_path: Path) -> None:
    code = "import sys\nsys.stderr.write('x' * 10_000_000)\nsys.exit('\\nthe end')"
    run = measure(tmp_path, code)
    assert last_lines(run.stderr)[-1] == "the end"
    assert sum(map(len, last_lines(run.stderr))) < 100_000


def test_interleaved_runs_turn_round(tmp_path: Path) -> None:
    program = Program((sys.executable, "-c", "print(1)"), tmp_path, {}, 60.0)
    seen: list[MeasuredRun] = []
    runs = measure_interleaved(
        {"original": program, "debloated": program}, 3, hardware=HARDWARE,
        log_dir=tmp_path / "log", on_run=seen.append,
    )  # fmt: skip
    order = pd.Series([run.condition[0] for run in runs]).str.cat()
    assert order == "oddood" and seen == runs
    assert len({run.output_digest for run in runs}) == 1
