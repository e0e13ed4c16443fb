"""Reads Spark's event log: times of tasks, tasks of stages, and rounds of jobs.

The log holds one JSON document per line, written by Spark's `EventLoggingListener`. Only
uncompressed logs without rolling are read, as `spark_session` configures them.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from trimtab.errors import UserError

_EVENTS = ("JobStart", "StageCompleted", "TaskEnd")
_KINDS = {"ShuffleMapTask": "map", "ResultTask": "result"}

TASK_COLUMNS = [
    "group", "stage", "task", "kind", "launch_s", "finish_s", "run_s", "executor_cpu_s", "succeeded"
]  # fmt: skip
STAGE_COLUMNS = [
    "group", "stage", "kind", "tasks", "dropped_tasks", "submitted_s", "completed_s",
    "executor_cpu_s", "succeeded",
]  # fmt: skip


@dataclass(frozen=True)
class EventLog:
    """The tables of an event log. Points in time are seconds since 1970.

    `tasks`: one row per attempt at a task, with its job group, stage, index, and kind: `map` (its
    output is shuffled) or `result`. `run_s` is the executor's run time. `executor_cpu_s` is the CPU
    time of its Java thread: the task's own work under any load, but without its Python worker's
    process. So for jobs in Python, a task's work is the time in its slot, `finish_s - launch_s`,
    and a job's CPU time is that of Spark's processes.

    `stages`: one row per executed stage: its launched tasks, and its tasks dropped by
    `dropping.drop`.
    """

    tasks: pd.DataFrame
    stages: pd.DataFrame

    def of_groups(self, groups: Iterable[str]) -> "EventLog":
        """Return the rows of these job groups."""
        wanted = set(groups)
        tasks, stages = self.tasks, self.stages
        return EventLog(tasks[tasks.group.isin(wanted)], stages[stages.group.isin(wanted)])


def read_event_log(path: Path) -> EventLog:
    """Return the tables of the event log at `path`.

    Raises UserError for a file other than an event log in plain JSON.
    """
    groups: dict[int, str] = {}
    tasks, stages = [], []
    for event in _events(path):
        match event["Event"].removeprefix("SparkListener"):
            case "JobStart":
                group = event["Properties"].get("spark.jobGroup.id", "")
                for stage in event["Stage IDs"]:
                    groups.setdefault(stage, group)
            case "TaskEnd":
                tasks.append(_task(event, groups[event["Stage ID"]]))
            case "StageCompleted":
                stages.append(_stage(event["Stage Info"], groups))
    task_table = pd.DataFrame(tasks, columns=TASK_COLUMNS)
    stage_table = pd.DataFrame(
        stages, columns=[*STAGE_COLUMNS[:2], *STAGE_COLUMNS[3:7], "succeeded"]
    )
    of_stage = task_table.groupby("stage").agg(
        kind=("kind", "first"), executor_cpu_s=("executor_cpu_s", "sum")
    )
    joined = stage_table.merge(of_stage, left_on="stage", right_index=True, how="left")
    return EventLog(task_table, joined[STAGE_COLUMNS])


def _events(path: Path) -> Iterator[dict[str, Any]]:
    wanted = tuple(f'{{"Event":"SparkListener{name}"' for name in _EVENTS)
    try:
        with path.open(encoding="utf-8") as lines:
            if not next(lines, "").startswith('{"Event":"SparkListenerLogStart"'):
                raise ValueError
            for line in lines:
                # The last line may be incomplete.
                if line.startswith(wanted) and line.endswith("\n"):
                    yield json.loads(line)
    except ValueError:  # also UnicodeDecodeError and JSONDecodeError
        raise UserError(
            f"{path}: no event log of Spark in plain JSON; set spark.eventLog.compress and"
            " spark.eventLog.rolling.enabled to false"
        ) from None


def _task(event: dict[str, Any], group: str) -> tuple[object, ...]:
    info, metrics = event["Task Info"], event.get("Task Metrics") or {}
    return (
        group,
        event["Stage ID"],
        info["Index"],
        _KINDS[event["Task Type"]],
        info["Launch Time"] / 1e3,
        info["Finish Time"] / 1e3,
        metrics.get("Executor Run Time", 0) / 1e3,
        metrics.get("Executor CPU Time", 0) / 1e9,
        event["Task End Reason"]["Reason"] == "Success",
    )


def _stage(info: dict[str, Any], groups: dict[int, str]) -> tuple[object, ...]:
    partitions = {rdd["RDD ID"]: rdd["Number of Partitions"] for rdd in info["RDD Info"]}
    dropped = [
        partitions[rdd["Parent IDs"][0]] - rdd["Number of Partitions"]
        for rdd in info["RDD Info"]
        if rdd["Name"] == "PartitionPruningRDD"
    ]
    return (
        groups[info["Stage ID"]],
        info["Stage ID"],
        info["Number of Tasks"],
        sum(dropped),
        info["Submission Time"] / 1e3,
        info["Completion Time"] / 1e3,
        "Failure Reason" not in info,
    )


def job_times(log: EventLog, runs: pd.DataFrame) -> pd.DataFrame:
    """Return the times within each run of a job of one map and one result stage.

    Each row of `runs` has a job group, start_s and finish_s. The result adds setup_s (before the
    first task and after the last), map_s, shuffle_s (between the stages) and reduce_s, which add up
    to finish_s - start_s. It also has the counts map_tasks and reduce_tasks, and the mean times in
    a slot map_task_s and reduce_task_s.
    """
    tasks = log.tasks.assign(task_s=log.tasks.finish_s - log.tasks.launch_s)
    stages = tasks.groupby(["group", "kind"]).agg(
        first_s=("launch_s", "min"), last_s=("finish_s", "max"), task_s=("task_s", "mean"),
        tasks=("task", "size"),
    ).unstack("kind")  # fmt: skip
    both = runs.join(stages.set_axis(["_".join(each) for each in stages.columns], axis=1), "group")
    first, last = both.pop("first_s_map"), both.pop("last_s_result")
    between = both.pop("last_s_map"), both.pop("first_s_result")
    return both.rename(
        columns={
            "task_s_map": "map_task_s",
            "task_s_result": "reduce_task_s",
            "tasks_map": "map_tasks",
            "tasks_result": "reduce_tasks",
        }
    ).assign(
        setup_s=(first - both.start_s) + (both.finish_s - last),
        map_s=between[0] - first,
        shuffle_s=between[1] - between[0],
        reduce_s=last - between[1],
    )
