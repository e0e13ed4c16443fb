"""The stage `characterize`: every run of a characterization, once, over any number of calls."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import pyarrow as pa

from trimtab.characterization.infrastructure import CpuTime, RunMeter, marked_processes
from trimtab.characterization.joint import joint_runs
from trimtab.characterization.journal import CharacterizationJournal
from trimtab.characterization.plan import (
    CharacterizationSpace,
    RemainingTime,
    Run,
    SessionKey,
    cost,
    key_of,
    ordered,
)
from trimtab.characterization.platform import slots
from trimtab.characterization.session_process import (
    SessionEndedError,
    SparkProcess,
    spark_process,
)
from trimtab.config.groups.learning.characterization import OWN_MASTERS
from trimtab.config.stages import CharacterizeStage
from trimtab.locks import folder_lock
from trimtab.processes.run_processes import RunProcesses
from trimtab.profiling.meters.machine import machine_meters
from trimtab.profiling.profile import model_of
from trimtab.records.parquet.files import write_table
from trimtab.records.tables import CHARACTERIZATION_RUNS
from trimtab.spark.home import use_spark
from trimtab.spark.standalone import spark_cluster

Tell = Callable[[str], None]


def characterize(stage: CharacterizeStage, destination: Path, tell: Tell) -> None:
    """Write `runs.parquet` to `destination`: one row of CHARACTERIZATION_RUNS per run.

    `tell` first gets the planned runs and their duration. Finished runs are kept beside it, in
    `journal.jsonl`, and later calls do not repeat them. A failed run is a row with its error.
    Raises UserError where Spark or Java is missing, and SessionEndedError where a session does not
    start.
    """
    use_spark()
    with folder_lock(destination), TemporaryDirectory(prefix="trimtab-") as folder:
        journal = CharacterizationJournal(destination / "journal.jsonl", stage)
        space = CharacterizationSpace(stage.characterization, stage.workloads)
        defaults, varied = space.defaults(), space.one_at_a_time()
        with ExitStack() as ending:
            processes = ending.enter_context(marked_processes())
            master = ending.enter_context(_master(stage, Path(folder)))
            runner = _Runner(stage, journal, Path(folder), processes, master, tell)
            ending.enter_context(runner.ending)
            tell(f"one parameter at a time: {runner.cost([*defaults, *varied])}")
            runner.carry_out(run for run in defaults if run.repeat == 0)
            tell(f"one parameter at a time: {runner.cost([*defaults, *varied])}")
            runner.carry_out([*defaults, *varied])
            first = {run.key for run in [*defaults, *varied]}
            known = [row for row in journal.rows if key_of(row) in first]
            joint = joint_runs(space, known, stage.characterization.joint_settings)
            tell(f"parameters of shown impact together: {runner.cost(joint)}")
            runner.carry_out(joint)
        wanted = first | {run.key for run in joint}
        rows = [row for row in journal.rows if key_of(row) in wanted]
        frame = pd.DataFrame(rows, columns=CHARACTERIZATION_RUNS.names)
        whole = {each.name: "Int64" for each in CHARACTERIZATION_RUNS if each.type == pa.int64()}
        write_table(destination / "runs.parquet", CHARACTERIZATION_RUNS, frame.astype(whole))


@contextmanager
def _master(stage: CharacterizeStage, folder: Path) -> Iterator[str | None]:
    """Yield the URL of the requested master, None for Spark within one process."""
    asked = stage.characterization
    if asked.master == "local":
        yield None
    elif asked.master == "standalone":
        space = CharacterizationSpace(asked, stage.workloads)
        every = [run.platform for run in [*space.defaults(), *space.one_at_a_time()]]
        levels = {name: [each[name] for each in every] for name in every[0]}
        executors, cores = max(levels["executors"]), max(levels["cores"])
        memory_mib = executors * max(levels["memory_mib"])
        with spark_cluster(folder / "cluster", 1, executors * cores, memory_mib) as url:
            yield url
    else:
        yield asked.master


@dataclass
class _Session:
    """A running session, and the names of the workloads warmed up in it."""

    key: SessionKey
    spark: SparkProcess
    cpu_time: CpuTime = field(default_factory=CpuTime)
    warm: set[str] = field(default_factory=set)


@dataclass
class _Runner:
    """Carries out unfinished runs, in as few sessions as their order allows.

    The last session continues until another one is needed, or `ending` is closed.
    """

    stage: CharacterizeStage
    journal: CharacterizationJournal
    folder: Path
    processes: RunProcesses
    master: str | None
    tell: Tell
    starts_s: list[float] = field(default_factory=list)
    ending: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self._meters = machine_meters(model_of(self.stage.hardware))
        self._numbers = itertools.count()
        self._session: _Session | None = None

    @property
    def _running(self) -> SessionKey | None:
        return self._session.key if self._session else None

    def cost(self, runs: Iterable[Run]) -> RemainingTime:
        """Return the remaining time of the unfinished `runs`."""
        start_s = sum(self.starts_s) / len(self.starts_s) if self.starts_s else 0.0
        warm_up_runs = self.stage.characterization.warm_up_runs
        return cost(self._left(runs), self.journal.rows, warm_up_runs, start_s, self._running)

    def carry_out(self, runs: Iterable[Run]) -> None:
        """Carry out the unfinished `runs`."""
        left = self._left(runs)
        while left:
            _, together = next(itertools.groupby(left, lambda run: run.session))
            self._in_one_session(list(together))
            left = self._left(left)

    def end_session(self) -> None:
        """End the running session, if any."""
        self._session = None
        self.ending.close()

    def _left(self, runs: Iterable[Run]) -> list[Run]:
        return [run for run in ordered(runs, self._running) if not self.journal.has(run)]

    def _session_for(self, run: Run) -> _Session:
        if self._session is None or self._session.key != run.session:
            self.end_session()
            folder = self.folder / f"session-{next(self._numbers)}"
            started = spark_process(
                folder, self.master, run.platform, self.stage.characterization.price
            )
            self._session = _Session(run.session, self.ending.enter_context(started))
            self.starts_s.append(self._session.spark.start_s)
        return self._session

    def _in_one_session(self, runs: Sequence[Run]) -> None:
        """Carry out runs until all are finished, or the session has ended."""
        session = self._session_for(runs[0])
        for run in runs:
            times = 1
            if run.workload.name not in session.warm:
                session.warm.add(run.workload.name)
                times += self.stage.characterization.warm_up_runs
            for _ in range(times):
                row, has_ended = self._run(run, session.spark, session.cpu_time)
                if has_ended:
                    break
            self._finished(run, row)
            if has_ended:
                self.end_session()
                return

    def _run(self, run: Run, spark: SparkProcess, cpu_time: CpuTime) -> tuple[dict[str, Any], bool]:
        """Carry out a run; return its row, and whether it ended the session."""
        asked = self.stage.characterization
        row: dict[str, Any] = dict.fromkeys(CHARACTERIZATION_RUNS.names)
        row |= {
            "workload": run.workload.name,
            "data": run.workload.data,
            "method": str(run.workload.method),
            "task": str(run.workload.method.task),
            "engine": self._engine(run),
            "phase": run.phase,
            "varied": "+".join(run.varied),
            "settings": run.settings,
            "repeat": run.repeat,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        meter = RunMeter(self.processes, cpu_time, self._meters)
        answer: dict[str, Any] | str
        try:
            answer = spark.ask(run, meter, asked.sample_interval_s, asked.longest_run_s)
            has_ended = False
        except SessionEndedError as error:
            answer, has_ended = str(error), True
        row |= meter.finish()
        if isinstance(answer, str):
            return {**row, "complete": False, "error": answer}, has_ended
        own_s = row["own_s"] + answer["own_s"]
        return {**row, **answer, "own_s": own_s, "complete": True, "error": ""}, has_ended

    def _engine(self, run: Run) -> str:
        """Return the engine's name: our own cluster has another port at each start."""
        asked = self.stage.characterization.master
        return f"{asked}[{slots(run.platform)}]" if asked in OWN_MASTERS else asked

    def _finished(self, run: Run, row: dict[str, Any]) -> None:
        self.journal.add(row)
        what = "+".join(run.varied) or "defaults"
        outcome = f"{row['wall_s']:.1f} s" if row["complete"] else f"failed: {row['error']}"
        self.tell(f"{run.workload.name}, {what}, repeat {run.repeat}: {outcome}")
