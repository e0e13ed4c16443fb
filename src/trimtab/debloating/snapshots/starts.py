"""Save the starts of the programs of a slim environment."""

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.debloating.snapshots.installing import remove_snapshots
from trimtab.debloating.snapshots.making import NoSnapshot, Snapshot, make_snapshot
from trimtab.debloating.targets.base import Target
from trimtab.debloating.targets.registry import target_of
from trimtab.files import remove_tree
from trimtab.profiling.runs.from_workload import absolute, command_line
from trimtab.progress import runs_to_do
from trimtab.records.imports.saved_starts import SavedStarts, WorkloadStart


def save_starts(
    name: str, hardware: str, workloads: Sequence[Workload], environment: Path, destination: Path
) -> None:
    """Save the start of each workload of the target `name`, in place of all that were saved.

    Writes start.json to the folder `destination`.
    """
    remove_snapshots(environment)
    starts = []
    with runs_to_do("save the starts", None):
        for workload in workloads:
            run_folder = destination / "starts" / workload.name
            target = target_of(name, workloads)
            starts.append(save_start(target, workload, run_folder, environment)[1])
    remove_tree(destination / "starts")
    document = SavedStarts(target=name, hardware=hardware, workloads=starts)
    document.write(destination / "start.json")


def save_start(
    target: Target, workload: Workload, run_folder: Path, environment: Path
) -> tuple[Snapshot | NoSnapshot, WorkloadStart]:
    """Save the start of a workload in the slim `environment`, as a user's shell starts it.

    Returns what was made, and its record. `{output}` is in `run_folder`, which is removed at the
    end.
    """
    began_s = time.monotonic()
    made = _made(target, workload, run_folder, absolute(environment))
    return made, _recorded(workload, made, time.monotonic() - began_s)


def _made(
    target: Target, workload: Workload, run_folder: Path, environment: Path
) -> Snapshot | NoSnapshot:
    program = target.program(workload, run_folder, environment)
    try:
        if program.root is not None or program.user is not None:
            return NoSnapshot("it runs in a root file system, or as another user")
        first, *words = program.command
        path = os.environ.get("PATH", os.defpath)
        found = shutil.which(first, path=program.environment["PATH"]) or first
        variables = {**program.environment, "PATH": path}
        typed = replace(program, command=(found, *words), environment=variables)
        has_own_folder = any("{output}" in word for word in command_line(workload))
        return make_snapshot(environment, typed, for_all_arguments=has_own_folder)
    finally:
        remove_tree(run_folder)


def _recorded(workload: Workload, made: Snapshot | NoSnapshot, making_s: float) -> WorkloadStart:
    if isinstance(made, NoSnapshot):
        return WorkloadStart(workload.name, 0, None, None, [], made.why, making_s)
    times = (made.before_s, made.after_s, list(made.pairs_s))
    is_whole = workload.marks.first_iteration is None
    return WorkloadStart(
        workload.name, made.size_bytes, *times, made.next_act, making_s, whole_run=is_whole
    )
