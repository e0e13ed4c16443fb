"""Round times of programs on Spark, measured as in a queue's jobs."""

import os
import statistics
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from trimtab.config.stages import TraceStage
from trimtab.execution.spark.run import run_trace
from trimtab.policies.priority import Priority
from trimtab.records.measured_rounds import MeasuredRounds, RoundTimes
from trimtab.spark.event_log import job_times
from trimtab.spark.program import SparkProgram, warm_up
from trimtab.spark.programs.prepare import prepare
from trimtab.spark.session import Session, spark_session

WARM_UP = 8  # warm-up runs of each class
_PROFILED = 10


def round_times(session: Session, programs: Mapping[str, SparkProgram]) -> dict[str, RoundTimes]:
    """Measure the round times of each class.

    The classes run in turn, with nothing dropped. A task's time is its wave's share of the round,
    scheduling included.
    """
    warm_up(session, programs.values(), WARM_UP)
    names = list(programs) * _PROFILED
    trace = pd.DataFrame(
        {"job": job, "arrival_s": 0.0, "job_class": name, "priority": 0}
        for job, name in enumerate(names)
    )
    ran = run_trace(session, trace, programs, Priority())
    times = job_times(ran.log, ran.attempts).sort_values("job")
    times["processing_s"] = ran.jobs.set_index("job")["execution_s"][times["job"]].to_numpy()
    times["name"] = names
    return {name: _rounds(times[times["name"] == name], session.slots) for name in programs}


def _rounds(times: pd.DataFrame, slots: int) -> RoundTimes:
    whole_s = times["processing_s"]
    parts = times[["setup_s", "map_s", "shuffle_s", "reduce_s"]]
    outside_s = float((whole_s - parts.sum(axis=1)).mean())

    def task_s(round_name: str) -> float:
        waves = -(-int(times[f"{round_name}_tasks"].iloc[0]) // slots)
        return float(times[f"{round_name}_s"].mean()) / waves

    return RoundTimes(
        set_up_s=float(times["setup_s"].mean()) + outside_s,
        map_task_s=task_s("map"),
        shuffle_s=max(0.0, float(times["shuffle_s"].mean())),
        reduce_task_s=task_s("reduce"),
        distribution="deterministic",
        size_scv=statistics.variance(whole_s) / statistics.mean(whole_s) ** 2,
    )


def measure_rounds(stage: TraceStage) -> MeasuredRounds:
    """Measure the round times of each class; each has to name a program."""
    with TemporaryDirectory(prefix="trimtab-spark-") as folder:
        programs = prepare(stage.trace.classes, Path(folder))
        load_average = os.getloadavg()[0]
        with spark_session(Path(folder) / "log", stage.cluster.engine_slots) as session:
            times = round_times(session, programs)
    return MeasuredRounds(classes=times, load_average_before=load_average)
