"""A task graph written by hand as YAML."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from trimtab.config.limits import UnreadableFileError, yaml_values
from trimtab.errors import UserError
from trimtab.records.document import PART, first_mistake
from trimtab.secure_tasks.graphs.builder import GraphBuilder, successors_of
from trimtab.secure_tasks.graphs.graph import MOST_BYTES, MOST_DEVICES, MOST_WORK_S, TaskGraph

_MOST_NAMED_BYTES = MOST_BYTES // 2

_Name = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9_.\[\]-]+\z", max_length=255)]
_Device = Annotated[str, StringConstraints(pattern=r"\A[a-z][a-z0-9_]*\z", max_length=64)]
_Bytes = Annotated[int, Field(ge=0, le=_MOST_NAMED_BYTES)]


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


class _Task(BaseModel):
    """One entry of `tasks`; its inputs and outputs are arbitrary names."""

    model_config = PART | ConfigDict(strict=True, populate_by_name=False)
    name: _Name
    work_s: float = Field(ge=0, le=MOST_WORK_S)
    kind: _Name | None = None
    reads: list[_Name] = Field(default=[], alias="in")
    out: list[_Name] = []
    inout: list[_Name] = []
    after: list[_Name] = []
    bytes_in: _Bytes = 0
    bytes_out: _Bytes = 0
    working_set_bytes: _Bytes | None = None
    secure: bool = False
    target: Annotated[list[_Device], BeforeValidator(_as_list), Field(min_length=1)] = ["cpu"]


class _Written(BaseModel):
    model_config = PART | ConfigDict(strict=True)
    version: Literal[1]
    tasks: list[_Task]


def read_written(path: Path) -> TaskGraph:
    """Return the graph that the YAML file at `path` describes.

    A task's dependences follow from the order of the list and its `in`, `out` and `inout`; `after`
    adds others, even of later tasks. Raises UserError with the file and the key for an invalid
    file: missing, too large or no YAML, unknown keys, costs below 0, duplicate or unknown names of
    tasks, or cycles.
    """
    try:
        values = yaml_values(path)
        written = _Written.model_validate(values)
    except FileNotFoundError:
        raise UserError(f"{path}: missing; expected a YAML file with `version: 1`") from None
    except UnreadableFileError as error:
        raise UserError(str(error)) from None
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path}{line}: not YAML: {error.problem}") from None
    except ValidationError as error:
        raise UserError(f"{path}: {first_mistake(error)}") from None
    try:
        return _graph(written.tasks)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _graph(tasks: list[_Task]) -> TaskGraph:
    numbers: dict[str, int] = {}
    for number, task in enumerate(tasks):
        if numbers.setdefault(task.name, number) != number:
            first = numbers[task.name]
            raise UserError(f"tasks[{number}].name: {task.name!r} is the name of tasks[{first}]")
    devices = {device for task in tasks for device in task.target}
    if len(devices) > MOST_DEVICES:
        raise UserError(f"tasks: {len(devices)} kinds of device, expected at most {MOST_DEVICES}")
    builder = GraphBuilder()
    waits: list[tuple[int, int]] = []
    for number, task in enumerate(tasks):
        for at, name in enumerate(task.after):
            if name not in numbers:
                raise UserError(f"tasks[{number}].after[{at}]: no task is named {name!r}")
            waits.append((numbers[name], number))
        builder.add(
            task.kind or task.name,
            task.work_s,
            reads=task.reads + task.inout,
            writes=task.out + task.inout,
            bytes_in=task.bytes_in,
            bytes_out=task.bytes_out,
            working_set_bytes=task.working_set_bytes,
            secure=task.secure,
            target=task.target,
        )
    return _waiting(builder.graph(), waits)


def _waiting(graph: TaskGraph, waits: list[tuple[int, int]]) -> TaskGraph:
    """Return the graph with further dependences."""
    more = np.array(waits, np.int64).reshape(-1, 2)
    source = np.repeat(np.arange(len(graph)), np.diff(graph.first_successor))
    first, successors = successors_of(
        len(graph),
        np.concatenate([source, more[:, 0]]),
        np.concatenate([graph.successors, more[:, 1]]),
    )
    return replace(graph, first_successor=first, successors=successors)
