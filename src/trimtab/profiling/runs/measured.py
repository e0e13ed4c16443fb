"""The results of a measured run, and the tables of many runs."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from trimtab.errors import UserError
from trimtab.processes.program import ended, format_exit_code
from trimtab.profiling.meters.energy import Energy
from trimtab.profiling.meters.os_counters import Counts
from trimtab.records.tables import EPOCHS, RUNS
from trimtab.untrusted import last_bytes_of

_LAST_LINES, _LAST_BYTES = 20, 1 << 16
_LONGEST_COMMAND = 200  # characters


@dataclass(frozen=True)
class MeasuredRun:
    """One ended or killed run of a program, with all its costs.

    `epochs` has the columns of the epochs' table from `epoch` on. `samples` has one row a sample:
    `time_s` since the run's start, running totals, and the memory held at that time. `output` is
    the copy of the compared output. `counters_missing` says which hardware counters were left out
    and why, or is "". `left_behind` counts processes that outlived the first one and were killed.
    `ended_by_us` are their numbers, and those of a server's processes when it was stopped.
    `good_exit_codes` is None if any end is good. `server_problem` says what went wrong with a
    server before it was stopped, or is None.
    """

    condition: str
    repeat: int
    hardware: str
    exit_code: int  # negative: the signal that ended it
    good_exit_codes: frozenset[int] | None
    server_problem: str | None
    timed_out: bool
    left_behind: int
    ended_by_us: frozenset[int]
    wall_s: float
    start_up_s: float | None
    peak_rss_bytes: int
    peak_gpu_memory_bytes: int | None
    gpu_busy_share: float | None
    gpu_energy_j: float | None
    counts: Counts
    energy: Energy
    output_digest: str | None
    output: Path | None
    stdout: Path
    stderr: Path
    epochs: pd.DataFrame
    samples: pd.DataFrame
    counters_missing: str

    @property
    def failure(self) -> str | None:
        """Why the run did not end well, in one line with the log to read, or None."""
        if self.timed_out:
            what = f"took too long and was killed with all its processes after {self.wall_s:.1f} s"
            what += f" ({self.server_problem})" if self.server_problem else ""
        elif self.server_problem:
            what = self.server_problem
        elif self.good_exit_codes is None or self.exit_code in self.good_exit_codes:
            return None
        else:
            expected = " or ".join(format_exit_code(code) for code in sorted(self.good_exit_codes))
            what = f"{ended(self.exit_code)}, expected {expected}"
        return f"the {self.condition} run {self.repeat} {what}; see {self.stderr}"


def failure_of(run: MeasuredRun, command: Sequence[str]) -> str | None:
    """Return why a run did not end well, with the last lines of its output, or None."""
    if run.failure is None:
        return None
    return "\n".join([f"{in_one_line(command)}: {run.failure}", *last_lines(run.stderr)])


def in_one_line(command: Sequence[str]) -> str:
    """Return a command shortened to one line, for messages."""
    line = " ".join(" ".join(command).split())
    return line if len(line) <= _LONGEST_COMMAND else f"{line[:_LONGEST_COMMAND]} ..."


def last_lines(log: Path) -> list[str]:
    """Return the last 20 non-blank lines of a run's log."""
    lines = last_bytes_of(log, _LAST_BYTES).decode(errors="replace").splitlines()
    return [line for line in lines if line.strip()][-_LAST_LINES:]


def runs_table(workload: str, runs: Iterable[MeasuredRun]) -> pd.DataFrame:
    """Return the runs as a table with the columns of `tables.RUNS`, one row a run."""
    rows = [
        {
            **_names(workload, run),
            "exit_code": run.exit_code,
            "ended_well": run.failure is None,
            "wall_s": run.wall_s,
            "start_up_s": run.start_up_s,
            "peak_rss_bytes": run.peak_rss_bytes,
            "peak_gpu_memory_bytes": run.peak_gpu_memory_bytes,
            "gpu_busy_share": run.gpu_busy_share,
            "gpu_energy_j": run.gpu_energy_j,
            **run.counts,
            **asdict(run.energy),
            "output_digest": run.output_digest,
        }
        for run in runs
    ]
    return pd.DataFrame(rows, columns=RUNS.names)


def epochs_table(workload: str, runs: Iterable[MeasuredRun]) -> pd.DataFrame:
    """Return the epochs of the runs with the columns of `tables.EPOCHS`, one row an epoch."""
    tables = [run.epochs.assign(**_names(workload, run)) for run in runs]
    if not tables:
        return pd.DataFrame(columns=EPOCHS.names)
    table: pd.DataFrame = pd.concat(tables, ignore_index=True)[EPOCHS.names]
    return table


def with_scores(epochs: pd.DataFrame, captured: Sequence[Mapping[str, str]]) -> pd.DataFrame:
    """Return the epochs with the column `scores`: the captured scores of each epoch, as JSON.

    It is null without captured scores; a score that is no finite number is null in it. Raises
    UserError if a captured score is no number.
    """
    scores = [_scores(texts) for texts in captured] or [None]
    return epochs.assign(scores=pd.array(scores, dtype="object"))


def _scores(texts: Mapping[str, str]) -> str | None:
    numbers: dict[str, float | None] = {}
    for name, text in texts.items():
        try:
            number = float(text)
        except ValueError:
            raise UserError(f"marks.epoch: {name}: {text!r} captured, expected a number") from None
        numbers[name] = number if math.isfinite(number) else None
    return json.dumps(numbers) if numbers else None


def _names(workload: str, run: MeasuredRun) -> dict[str, Any]:
    return {
        "workload": workload,
        "hardware": run.hardware,
        "condition": run.condition,
        "repeat": run.repeat,
    }
