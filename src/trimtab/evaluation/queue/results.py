"""The files of `trimtab schedule simulate`, read for its report."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from trimtab.records.batch.comparison import RECORDED, QueueComparison, QueueWaits
from trimtab.records.batch.tables import BATCH_JOBS, BATCH_RUNS, BATCH_SCHEDULE
from trimtab.records.parquet.files import read_table


@dataclass(frozen=True)
class QueueResults:
    """A comparison, its jobs, and the schedule and runs of each policy.

    The runs of a policy that interrupts no job are its schedule. Other tables are in the order of
    the jobs and of equal length.
    """

    document: QueueComparison
    jobs: pd.DataFrame
    schedules: Mapping[str, pd.DataFrame]
    runs: Mapping[str, pd.DataFrame]

    @property
    def waits(self) -> dict[str, QueueWaits]:
        """The figures of waits, by policy; first the recorded ones, if known."""
        recorded = self.document.recorded
        first = {} if recorded is None else {RECORDED: recorded}
        return first | {each.policy: each.waits for each in self.document.policies}

    def wait_s(self) -> dict[str, pd.Series]:
        """Return the waits of jobs, by policy; first the recorded ones, NaN where unknown."""
        found = {}
        if self.document.recorded is not None:
            recorded = self.jobs["recorded_start_s"] - self.jobs["submit_s"]
            found[RECORDED] = recorded.clip(lower=0.0)
        return found | {name: each["wait_s"] for name, each in self.schedules.items()}


def read_results(folder: Path) -> QueueResults:
    """Return the results in `folder`; raises as documents and tables do when read."""
    document = QueueComparison.read(folder / "comparison.json")
    schedules = {
        each.policy: read_table(folder / each.schedule, BATCH_SCHEDULE)
        for each in document.policies
    }
    interrupted = {
        each.policy: read_table(folder / each.runs, BATCH_RUNS)
        for each in document.policies
        if each.runs is not None
    }
    jobs = read_table(folder / "jobs.parquet", BATCH_JOBS)
    return QueueResults(document, jobs, schedules, schedules | interrupted)
