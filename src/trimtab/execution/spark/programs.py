"""The programs that a trace's classes name, their input, and the times of their rounds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from trimtab.config.groups.trace import JobClassConfig
from trimtab.execution.commands import DispatchPolicy
from trimtab.execution.spark.run import SparkProgram, run_trace
from trimtab.records.measured_rounds import RoundTimes
from trimtab.spark.event_log import job_times
from trimtab.spark.programs.posts import resize_posts, write_documentation_posts
from trimtab.spark.programs.triangles import TriangleCount, partition_edges
from trimtab.spark.programs.web_graph import write_web_graph
from trimtab.spark.programs.word_popularity import WordPopularity
from trimtab.spark.session import Session

WARM_UP, PROFILED = 8, 10  # runs of each class
_GRAPH_NODES = 5000


def prepare(classes: Mapping[str, JobClassConfig], folder: Path) -> dict[str, SparkProgram]:
    """Return the program of each class, its input made in `folder`.

    Posts without a file of their own are made of Python's documentation, a graph by the copying
    model.
    """
    programs: dict[str, SparkProgram] = {}
    for name, facts in classes.items():
        source = Path(facts.input) if facts.input else None
        if facts.program == "word_popularity":
            path, size_bytes = folder / f"{name}.xml", int(facts.input_mb * 1e6)
            if source:
                resize_posts(source, path, size_bytes)
            else:
                write_documentation_posts(path, size_bytes)
            rounds = facts.rounds
            programs[name] = WordPopularity(path, rounds.map_tasks, rounds.reduce_tasks)
        else:
            if source is None:
                source = folder / f"{name}.txt"
                write_web_graph(source, _GRAPH_NODES)
            partition_edges(source, folder / name, facts.rounds.map_tasks)
            programs[name] = TriangleCount(folder / name)
    return programs


def round_times(session: Session, programs: Mapping[str, SparkProgram]) -> dict[str, RoundTimes]:
    """Return, for each class, the times of its rounds, measured.

    The classes are run in turn, with nothing dropped. A task's time is its wave's share of the
    round, scheduling included.
    """
    warm_up(session, programs, WARM_UP)
    times = _run(session, programs, PROFILED)
    return {name: _rounds(times[times["name"] == name], session.slots) for name in programs}


def warm_up(session: Session, programs: Mapping[str, SparkProgram], repeats: int) -> None:
    """Run every program a few times: the first runs of a session take longer than all others."""
    _run(session, programs, repeats)


def _run(session: Session, programs: Mapping[str, SparkProgram], repeats: int) -> pd.DataFrame:
    names = list(programs) * repeats
    trace = pd.DataFrame(
        {"job": job, "arrival_s": 0.0, "job_class": name, "priority": 0}
        for job, name in enumerate(names)
    )
    ran = run_trace(session, trace, programs, DispatchPolicy())
    times = job_times(ran.log, ran.attempts).sort_values("job")
    times["processing_s"] = ran.jobs.set_index("job")["execution_s"][times["job"]].to_numpy()
    return times.assign(name=names)


def _rounds(times: Any, slots: int) -> RoundTimes:
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
