"""The folders of the earlier stages, read and checked."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.inputs.files import read_rows, refuse_twice
from trimtab.evaluation.inputs.measurements import DebloatedTarget, Inputs, Measurements, Profile
from trimtab.evaluation.inputs.schedule_files import read_cells
from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.records.deflator_search import DeflatorSearch
from trimtab.records.manifest import Manifest
from trimtab.records.tables import EPOCHS, LIBRARIES, RUNS, read_table
from trimtab.records.trace_facts import TraceFacts
from trimtab.records.usage import Usage
from trimtab.records.used import UsedCodeByLibrary
from trimtab.records.verdict import Verdict


def load(inputs: Inputs) -> Measurements:
    """Read the files of `inputs` and check that they belong together.

    Raises UserError when a file is missing, a trace is incomplete or a target was debloated for
    a workload whose profile is not given, and TrimtabError when a file contradicts itself.
    """
    if not inputs.debloats and not inputs.schedules:
        raise UserError(
            f"experiment {inputs.experiment}: no debloated target and no schedule was given"
        )
    profiles = [_profile(folder) for folder in inputs.profiles]
    targets = [_target(folder) for folder in inputs.debloats]
    refuse_twice("workload", [(p.workload, p.hardware) for p in profiles])
    refuse_twice("target", [(t.label, t.hardware) for t in targets])
    profiled = {(p.workload, p.hardware) for p in profiles}
    for target in targets:
        for workload in target.workloads:
            if (workload, target.hardware) not in profiled:
                raise UserError(
                    f"target {target.label} was debloated for the workload {workload} on "
                    f"{target.hardware}, whose profile is not among the inputs: add its folder"
                )
    if len({target.hardware for target in targets}) > 1:
        targets = [replace(t, label=f"{t.label} on {t.hardware}") for t in targets]
        profiles = [replace(p, label=f"{p.label} on {p.hardware}") for p in profiles]
    schedules = Schedules(
        read_cells(inputs.schedules),
        tuple(DeflatorSearch.read(path) for path in inputs.deflators),
        tuple(TraceFacts.read(path) for path in inputs.traces),
        inputs.probes,
    )
    return Measurements(inputs, tuple(targets), tuple(profiles), schedules)


def _profile(folder: Path) -> Profile:
    usage = Usage.read(folder / "usage.json")
    if not usage.complete:
        reasons = "; ".join(usage.incomplete_because or ["no reason was recorded"])
        raise UserError(
            f"{folder / 'usage.json'}: the trace is incomplete ({reasons}); "
            "nothing is concluded from it: profile the workload again"
        )
    runs = read_rows(folder / "runs.parquet", RUNS)
    epochs = read_table(folder / "epochs.parquet", EPOCHS)
    workload, hardware = _only(runs, folder / "runs.parquet", ("workload", "hardware"))
    refuse_twice(
        f"{folder / 'runs.parquet'}: run",
        runs[["condition", "repeat"]].itertuples(index=False, name=None),
    )
    return Profile(workload, workload, hardware, usage, runs, epochs)


def _target(folder: Path) -> DebloatedTarget:
    manifest = Manifest.read(folder / "manifest.json")
    verdict = Verdict.read(folder / "verify.json")
    libraries = read_rows(folder / "libraries.parquet", LIBRARIES)
    _check_sums(folder / "libraries.parquet", libraries)
    used = UsedCodeByLibrary.read(folder / "used.json").libraries
    unknown = set(used) - set(libraries["library"])
    if unknown:
        raise TrimtabError(f"{folder / 'used.json'}: {min(unknown)}: not in libraries.parquet")
    runs = read_table(folder / "verify_runs.parquet", RUNS)
    refuse_twice(
        f"{folder / 'verify_runs.parquet'}: run",
        runs[["workload", "condition", "repeat"]].itertuples(index=False, name=None),
    )
    return DebloatedTarget(manifest.target, manifest, verdict, libraries, runs, used)


def _only(frame: pd.DataFrame, path: Path, columns: tuple[str, str]) -> tuple[str, str]:
    for column in columns:
        if frame[column].nunique() != 1:
            raise TrimtabError(f"{path}: expected one {column}, found {set(frame[column])}")
    return str(frame[columns[0]].iloc[0]), str(frame[columns[1]].iloc[0])


def _check_sums(path: Path, frame: pd.DataFrame) -> None:
    """Hold every library to the invariants of LIBRARIES: its parts add up."""
    before = frame["kept_bytes"] + frame["removed_bytes"] == frame["size_before_bytes"]
    after = frame["kept_bytes"] + frame["overhead_bytes"] == frame["size_after_bytes"]
    wrong = frame.loc[~(before & after), "library"]
    if not wrong.empty:
        raise TrimtabError(
            f"{path}: {wrong.iloc[0]}: kept + removed is not the size before, "
            "or kept + overhead is not the size after"
        )
    reasons = frame[["elements_architecture", "elements_unused", "elements_ptx"]].sum(axis=1)
    wrong = frame.loc[frame["elements_before"] - frame["elements_after"] != reasons, "library"]
    if not wrong.empty:
        raise TrimtabError(
            f"{path}: {wrong.iloc[0]}: the elements removed, by reason, are not those before "
            "less those after"
        )
