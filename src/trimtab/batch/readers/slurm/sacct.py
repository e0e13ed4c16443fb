"""Slurm's accounting: the output of `sacct -P`.

    sacct -a -P -X -S 2026-01-01 -E now -o JobID,User,Account,Partition,Submit,Eligible,Start,End,\
ElapsedRaw,TimelimitRaw,NNodes,AllocCPUS,AllocTRES,ReqTRES,ReqMem,State,Priority

https://slurm.schedmd.com/sacct.html. Other fields, `-o ALL`, `-p`, a `--delimiter`, and steps
(without `-X`) do as well. Without `-P`, `sacct` cuts its columns.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trimtab.batch.readers.head import Head
from trimtab.batch.readers.jobs import FoundJobs, joined
from trimtab.batch.readers.sizes import per_part
from trimtab.batch.readers.slurm.rows import Times, rows_that_ran
from trimtab.batch.readers.slurm.tres import resources
from trimtab.batch.readers.text_tables import text_columns
from trimtab.batch.readers.values import (
    UNKNOWN,
    UnreadableError,
    Values,
    counts,
    durations_s,
    memory_bytes,
    numbers,
    times_s,
)
from trimtab.errors import UserError

COMMAND = (
    "sacct -a -P -X -S 2026-01-01 -E now -o JobID,User,Account,Partition,Submit,Eligible,Start,"
    "End,ElapsedRaw,TimelimitRaw,NNodes,AllocCPUS,AllocTRES,ReqTRES,ReqMem,State,Priority"
)
_EXPECTED = f"the output of: {COMMAND}"
_MIB = 2.0**20
_MINUTE_S = 60.0
_FIELDS = [
    "JobID", "JobIDRaw", "User", "UID", "Account", "Group", "GID", "Partition", "QOS", "Submit",
    "Eligible", "Start", "End", "Elapsed", "ElapsedRaw", "Timelimit", "TimelimitRaw", "NNodes",
    "AllocNodes", "ReqNodes", "NCPUS", "AllocCPUS", "ReqCPUS", "AllocTRES", "ReqTRES", "ReqMem",
    "State", "Priority", "Container", "Comment",
]  # fmt: skip
_ELAPSED = {"Elapsed", "ElapsedRaw", "End"}
_CORES = {"NCPUS", "AllocCPUS", "ReqCPUS", "AllocTRES", "ReqTRES"}
_SIZES = {"NNodes", "AllocNodes", "ReqNodes", *_CORES}
_STATES = {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "RUNNING", "PENDING", "OUT_OF_MEMORY"}


def is_sacct(head: Head) -> bool:
    """Return whether the file has a header of `sacct -P`, or another table with its fields."""
    names = set(head.header)
    if "Submit" in names and names & _ELAPSED and names & (_SIZES | {"State"}):
        return True
    identity = {"JobID", "JobIDRaw"} & names
    return bool(identity) and head.separator == "|" and len(names & set(_FIELDS)) >= 3


def what_is_wrong(head: Head) -> str:
    """Return why a file is no output of `sacct -P`, but nearly; nothing for other files."""
    lines = [line.split() for line in head.lines[:2]]
    if len(lines) == 2 and "JobID" in lines[0] and set("".join(lines[1])) == {"-"}:
        return f"columns of fixed width, which sacct cuts; expected {_EXPECTED}"
    if head.separator == "|" and _STATES & {field.split(" ")[0] for field in head.header}:
        return f"no header, as sacct -n prints it; expected {_EXPECTED}"
    return ""


def read(path: Path, head: Head) -> FoundJobs:
    """Return the jobs that started, however they ended: each held its nodes.

    Those that still run count with what they have run until now, but not in figures. Steps are left
    out. A task of an array is a job; so is a component of a heterogeneous job. Jobs count as
    submitted when they became eligible, after their dependencies and begin times. Sizes are the
    allocated ones, or else the requested ones; the GPU type is the requested one, and run times are
    of the allocated one. A job of n nodes has n parts on different nodes, with an equal share each,
    rounded up. The image is the Container, else the Comment. Lines with another number of fields,
    as from a bar in a name, count as skipped.
    Raises UserError with the missing fields, or the row, the field and the value.
    """
    fields = set(head.header)
    for needed in ({"Submit"}, _ELAPSED):
        if not needed & fields:
            raise UserError(f"{path}: no field {' or '.join(sorted(needed))}; expected {_EXPECTED}")
    skipped, remarks = Counter[str](), Counter[str]()
    frame = joined(path, _frames(path, head, skipped, remarks), skipped)
    said = [f"{what}: {count:,}" for what, count in remarks.items() if count]
    return FoundJobs(frame, skipped, said)


def _frames(
    path: Path, head: Head, skipped: Counter[str], remarks: Counter[str]
) -> Iterator[pd.DataFrame]:
    names = [name for name in dict.fromkeys(head.header) if name in _FIELDS]
    wanted = [head.header.index(name) for name in names]
    rows, odd = 0, list[int]()
    for arrays in text_columns(path, head.header, wanted, head.separator, _EXPECTED, odd):
        texts = dict(zip(names, arrays, strict=True))
        row = np.arange(rows, rows + len(arrays[0]))
        rows += len(row)
        ran, running = _ran(_Fields(path, texts, row), skipped, remarks)
        kept = {name: text.filter(pa.array(ran)) for name, text in texts.items()}
        yield _jobs(_Fields(path, kept, row[ran]), remarks).assign(counted=~running[ran])
    skipped["on lines with another number of fields"] += len(odd)


class _Fields:
    """The fields of some rows as text, and their numbers, from 0, in the file."""

    def __init__(self, path: Path, texts: dict[str, pa.Array], row: NDArray[np.int64]) -> None:
        self._path, self._texts, self._row = path, texts, row

    def __contains__(self, name: str) -> bool:
        return name in self._texts

    def text(self, *names: str) -> pa.Array:
        """Return the first of the fields that the file has; empty texts if it has none."""
        for name in names:
            if name in self._texts:
                return pc.utf8_trim_whitespace(self._texts[name])
        return pa.array([""] * len(self._row), pa.string())

    def read(self, name: str, reader: Callable[[pa.Array], Any]) -> Any:
        """Return a field as numbers, NaN if the file lacks it; UserError names row and field."""
        try:
            return reader(self.text(name))
        except UnreadableError as error:
            where = f"row {self._row[error.row] + 1:,} below the header, {name}"
            raise UserError(f"{self._path}: {where}: {error}") from None

    def first(self, reader: Callable[[pa.Array], Values], *names: str) -> Values:
        """Return the first field with a number above 0 in each row; NaN where none has."""
        return _first(*(self.read(name, reader) for name in names))


def _first(*columns: Values) -> Values:
    """Return the first value above 0 of some columns in each row; NaN where none is."""
    found = np.full(len(columns[0]), np.nan)
    for column in columns:
        found = np.where(np.isnan(found) & (column > 0), column, found)
    return found


def _ran(
    fields: _Fields, skipped: Counter[str], remarks: Counter[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    def known(name: str) -> NDArray[np.bool_]:
        unknown = pc.is_in(pc.utf8_lower(fields.text(name)), UNKNOWN)
        return np.asarray(~unknown.to_numpy(zero_copy_only=False) | (name not in fields))

    # A digit above 0 is in each duration but `0` and `00:00:00`.
    lasted = pc.match_substring_regex(fields.text("ElapsedRaw", "Elapsed"), "[1-9]")
    times = Times(known("Start"), known("End"), lasted.to_numpy(zero_copy_only=False))
    identity, state = fields.text("JobID", "JobIDRaw"), fields.text("State")
    return rows_that_ran(identity, state, times, skipped, remarks)


def _jobs(fields: _Fields, remarks: Counter[str]) -> pd.DataFrame:
    submit_s, eligible_s = fields.read("Submit", times_s), fields.read("Eligible", times_s)
    start_s, end_s = fields.read("Start", times_s), fields.read("End", times_s)
    later = (eligible_s > submit_s) & ~(eligible_s > start_s)
    remarks["jobs that count as submitted when they became eligible"] += int(later.sum())
    elapsed_s = fields.read("ElapsedRaw", durations_s)
    elapsed_s = np.where(np.isnan(elapsed_s), fields.read("Elapsed", durations_s), elapsed_s)
    asked, given = fields.read("ReqTRES", resources), fields.read("AllocTRES", resources)
    nodes = _first(
        fields.first(counts, "AllocNodes", "NNodes"),
        given["nodes"],
        fields.read("ReqNodes", counts),
        asked["nodes"],
    )
    nodes = np.nan_to_num(nodes, nan=1.0)
    cores = _first(
        fields.first(counts, "AllocCPUS", "NCPUS"),
        given["cores"],
        fields.read("ReqCPUS", counts),
        asked["cores"],
    )
    if not any(name in fields for name in _CORES):
        remarks["no field of cores, so nodes of one core"] += len(nodes)
        cores = nodes
    memory = _first(given["memory_bytes"], asked["memory_bytes"], _memory(fields, nodes, cores))
    any_type = asked["gpus"].gt(0) & asked["gpu_type"].eq("") & given["gpu_type"].ne("")
    remarks["jobs that asked for GPUs of any type"] += int(any_type.sum())
    return pd.DataFrame(
        {
            "name": fields.text("JobID", "JobIDRaw").to_pandas(),
            "submit_s": np.where(later, eligible_s, submit_s),
            "run_s": np.where(np.isnan(elapsed_s), end_s - start_s, elapsed_s),
            "estimate_s": _first(
                fields.read("TimelimitRaw", partial(durations_s, unit_s=_MINUTE_S)),
                fields.read("Timelimit", durations_s),
            ),
            "parts": nodes,
            "cpu_milli": per_part(cores, nodes),
            "gpu_milli": per_part(np.nan_to_num(_first(given["gpus"], asked["gpus"])), nodes),
            "memory_bytes": np.nan_to_num(memory) / nodes,
            "distinct": True,
            "gpu_type": asked["gpu_type"].where(asked["gpus"].notna(), given["gpu_type"]),
            "run_gpu_type": given["gpu_type"],
            "user": fields.text("User", "UID").to_pandas(),
            "group": fields.text("Account", "Group", "GID").to_pandas(),
            "queue": fields.text("Partition", "QOS").to_pandas(),
            "priority": fields.read("Priority", numbers),
            "start_s": start_s,
            "image": _images(fields),
        }
    )


def _images(fields: _Fields) -> "pd.Series[str]":
    """Return the Container of each job, else its Comment, where sites put the image of a job."""
    container = fields.text("Container")
    known = ~pc.is_in(pc.utf8_lower(container), UNKNOWN).to_numpy(zero_copy_only=False)
    comment = fields.text("Comment").to_pandas()
    return pd.Series(container.to_pandas().where(known, comment))


def _memory(fields: _Fields, nodes: Values, cores: Values) -> Values:
    """Return the bytes of ReqMem on all nodes: `4000Mn` is a node's, `4Gc` a core's."""
    text = fields.text("ReqMem")
    value = fields.read(
        "ReqMem",
        lambda text: memory_bytes(pc.replace_substring_regex(text, "[nc]$", ""), _MIB),
    )
    of_node = pc.ends_with(text, "n").to_numpy(zero_copy_only=False)
    of_core = pc.ends_with(text, "c").to_numpy(zero_copy_only=False)
    return np.asarray(value * np.where(of_node, nodes, np.where(of_core, cores, 1.0)))
