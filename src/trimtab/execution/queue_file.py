"""A queue of real jobs as a YAML file.

The file names the classes of jobs and the jobs:

    classes: {report: {priority: 1}, indexing: {priority: 0}}
    jobs:
      - {class: indexing, at_s: 0, command: [python, index.py]}
      - {class: report, at_s: 2.5, command: [python, report.py]}

Where every class has a `program` (FILE.py:FUNCTION, relative to the queue's folder), jobs have no
command: they run that function on Apache Spark.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from trimtab.config.limits import UnreadableFileError, yaml_values
from trimtab.errors import UserError
from trimtab.execution.job_queue import QueuedJob

_MOST_BYTES, _MOST_NODES = 1 << 21, 100_000  # some ten thousand jobs
_LARGEST_PRIORITY = 1 << 31
_KEYS = {"class", "at_s"}


@dataclass(frozen=True)
class QueueFile:
    """The jobs of a file, and the priority of each class.

    `programs` has each class' program for Spark, FILE.py:FUNCTION relative to `folder`; the jobs'
    commands are then empty. It is empty in a queue of commands.
    """

    jobs: tuple[QueuedJob, ...]
    priorities: Mapping[str, int]
    programs: Mapping[str, str]
    folder: Path


def read_queue(path: Path) -> QueueFile:
    """Read the file at `path`; UserError names the file, the job and the key."""
    try:
        document = yaml_values(path, _MOST_BYTES, _MOST_NODES)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except UnreadableFileError as error:
        raise UserError(str(error)) from None
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(document, dict) or set(document) != {"classes", "jobs"}:
        raise UserError(f"{path}: expected the keys classes and jobs")
    priorities, programs = {}, {}
    if not isinstance(document["classes"], dict):
        raise UserError(f"{path}: classes: expected a mapping of names to priorities")
    for name, facts in document["classes"].items():
        priority = facts.get("priority") if isinstance(facts, dict) else None
        if not isinstance(priority, int) or abs(priority) >= _LARGEST_PRIORITY:
            raise UserError(f"{path}: classes.{name}: expected a priority, a whole number")
        priorities[str(name)] = facts["priority"]
        if "program" in facts:
            programs[str(name)] = _program(f"{path}: classes.{name}.program", facts["program"])
    if without := priorities.keys() - programs.keys() if programs else None:
        names = ", ".join(sorted(without))
        raise UserError(f"{path}: classes: {names}: no program, which the others have")
    if not isinstance(document["jobs"], list) or not document["jobs"]:
        raise UserError(f"{path}: jobs: expected a list of jobs")
    jobs = tuple(
        _job(f"{path}: jobs[{number}]", number, facts, priorities, bool(programs))
        for number, facts in enumerate(document["jobs"])
    )
    return QueueFile(jobs, priorities, programs, path.parent)


def _program(place: str, named: Any) -> str:
    file, _, function = str(named).rpartition(":")
    if not file.endswith(".py") or not function.isidentifier():
        raise UserError(f"{place}: {named!r} given, expected FILE.py:FUNCTION")
    return str(named)


def _job(
    place: str, number: int, facts: Any, priorities: Mapping[str, int], on_spark: bool
) -> QueuedJob:
    keys = _KEYS if on_spark else {*_KEYS, "command"}
    if not isinstance(facts, dict) or set(facts) != keys:
        raise UserError(f"{place}: expected the keys {', '.join(sorted(keys))}")
    if not isinstance(facts["class"], str) or facts["class"] not in priorities:
        known = ", ".join(priorities)
        raise UserError(f"{place}.class: {facts['class']!r} given, expected one of {known}")
    at_s = facts["at_s"]
    if not isinstance(at_s, int | float) or isinstance(at_s, bool) or not 0 <= at_s < math.inf:
        raise UserError(f"{place}.at_s: {at_s!r} given, expected a number of seconds, 0 or more")
    words = facts.get("command", [])
    if not isinstance(words, list) or not all(map(_is_word, words)):
        raise UserError(f"{place}.command: {words!r} given, expected a list of texts")
    return QueuedJob(number, facts["class"], priorities[facts["class"]], float(at_s), tuple(words))


def _is_word(word: object) -> bool:
    return isinstance(word, str) and "\0" not in word
