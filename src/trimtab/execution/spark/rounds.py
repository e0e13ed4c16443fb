"""The times of the rounds of programs on Spark, as a queue's jobs take them."""

import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from trimtab.config.groups.trace import JobClassConfig
from trimtab.execution.commands import DispatchPolicy
from trimtab.execution.spark.run import run_trace
from trimtab.spark.event_log import job_times
from trimtab.spark.program import SparkProgram, warm_up
from trimtab.spark.programs.prepare import prepare
from trimtab.spark.session import Session, spark_session

WARM_UP = 8  # runs of each class before those that count
_PROFILED = 10

RoundTimes = dict[str, float | str]


def profile_engine(classes: Mapping[str, JobClassConfig], slots: int) -> dict[str, RoundTimes]:
    """Return, for each class that names a program, the keys of its rounds in a trace's YAML.

    They are measured on a Spark session of `slots` slots. Raises UserError where Spark is missing.
    """
    with tempfile.TemporaryDirectory(prefix="trimtab-spark-") as folder:
        programs = prepare(classes, Path(folder))
        with spark_session(Path(folder) / "log", slots) as session:
            return measure_rounds(session, programs)


def measure_rounds(session: Session, programs: Mapping[str, SparkProgram]) -> dict[str, RoundTimes]:
    """Return, for each class, the keys of its rounds in a trace's YAML, measured.

    The classes are run in turn, with nothing dropped. A task's time is its wave's share of the
    round, scheduling included; `size_scv` is the variation of whole jobs.
    """
    warm_up(session, programs.values(), WARM_UP)
    names = list(programs) * _PROFILED
    trace = pd.DataFrame(
        {"job": job, "arrival_s": 0.0, "job_class": name, "priority": 0}
        for job, name in enumerate(names)
    )
    ran = run_trace(session, trace, programs, DispatchPolicy())
    times = job_times(ran.log, ran.attempts).sort_values("job")
    times["processing_s"] = ran.jobs.set_index("job")["execution_s"][times["job"]].to_numpy()
    times["name"] = names
    return {name: _rounds(times[times["name"] == name], session.slots) for name in programs}


def _rounds(times: pd.DataFrame, slots: int) -> RoundTimes:
    whole_s = times["processing_s"]
    parts = times[["setup_s", "map_s", "shuffle_s", "reduce_s"]]
    outside_s = float((whole_s - parts.sum(axis=1)).mean())
    rounds: RoundTimes = {
        "set_up_s": float(times["setup_s"].mean()) + outside_s,
        "shuffle_s": max(0.0, float(times["shuffle_s"].mean())),
        "distribution": "deterministic",
        "size_scv": statistics.variance(whole_s) / statistics.mean(whole_s) ** 2,
    }
    for kind in ("map", "reduce"):
        waves = -(-int(times[f"{kind}_tasks"].iloc[0]) // slots)
        rounds[f"{kind}_task_s"] = float(times[f"{kind}_s"].mean()) / waves
    return rounds
