"""The folders of the earlier stages, read and checked."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from trimtab.errors import TrimtabError, UserError
from trimtab.evaluation.inputs.ends import judged
from trimtab.evaluation.inputs.measurements import (
    DebloatedTarget,
    EvaluationInputs,
    Measurements,
    WorkloadProfile,
)
from trimtab.evaluation.inputs.schedules import Cell, Schedules
from trimtab.evaluation.inputs.tunings import TunedCell
from trimtab.records import tables
from trimtab.records.built_environment import BuiltEnvironment, CompressedEnvironment
from trimtab.records.deflator_search import DeflatorSearch
from trimtab.records.images.fleet import Fleet
from trimtab.records.manifest import Manifest
from trimtab.records.parquet.files import check_table, read_table
from trimtab.records.summary import FormulaResponse, RealRun, Summary
from trimtab.records.trace_facts import TraceFacts
from trimtab.records.usage import Usage
from trimtab.records.used import UsedCodeByLibrary
from trimtab.records.values import escaped
from trimtab.records.verdict import Verdict


def load(inputs: EvaluationInputs) -> Measurements:
    """Read the files of `inputs` and check that they belong together.

    Raises UserError when a file is missing, a trace is incomplete or a target was debloated for
    a workload whose profile is not given, and TrimtabError when a file contradicts itself.
    """
    if not (
        inputs.debloats
        or inputs.schedules
        or inputs.tunings
        or inputs.growths
        or inputs.characterizations
        or inputs.protected
    ):
        raise UserError(
            f"experiment {inputs.experiment}: no debloated target, no schedule, nothing that was "
            "tuned, characterized or protected and no code base was given"
        )
    profiles = [_profile(folder) for folder in inputs.profiles]
    targets = [_target(folder) for folder in inputs.debloats]
    _refuse_twice("workload", [(p.workload, p.hardware) for p in profiles])
    _refuse_twice("target", [(t.label, t.hardware) for t in targets])
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
    tunings = [_tuning(folder, inputs) for folder in inputs.tunings]
    _refuse_twice("tuning", [(*cell.setting, cell.tuner) for cell in tunings])
    growths = [_read_rows(path, tables.LINES_BY_YEAR) for path in inputs.growths]
    _refuse_twice("code base", [(rows["code_base"].iloc[0],) for rows in growths])
    return Measurements(
        inputs,
        tuple(targets),
        tuple(profiles),
        schedules,
        tuple(tunings),
        tuple(growths),
        _fleets(inputs.fleets),
        _characterized(inputs.characterizations),
        _protected(inputs.protected),
    )


def _fleets(paths: Sequence[Path]) -> dict[str, Fleet]:
    """Return fleets by their name, with the hardware where there are several."""
    several = len({path.parent.name for path in paths}) > 1
    return {
        f"{path.parts[-3]} on {path.parts[-2]}" if several else path.parts[-3]: Fleet.read(path)
        for path in paths
    }


def _profile(folder: Path) -> WorkloadProfile:
    usage = Usage.read(folder / "usage.json")
    if not usage.complete:
        reasons = "; ".join(usage.incomplete_because or ["no reason was recorded"])
        raise UserError(
            f"{folder / 'usage.json'}: the trace is incomplete ({reasons}); "
            "nothing is concluded from it: profile the workload again"
        )
    runs = _read_rows(folder / "runs.parquet", tables.RUNS)
    epochs = read_table(folder / "epochs.parquet", tables.EPOCHS)
    workload, hardware = _only(runs, folder / "runs.parquet", ("workload", "hardware"))
    _refuse_twice(f"{folder / 'runs.parquet'}: run", _keys(runs, "condition", "repeat"))
    return WorkloadProfile(workload, workload, hardware, usage, runs, epochs)


def _target(folder: Path) -> DebloatedTarget:
    manifest = Manifest.read(folder / "manifest.json")
    verdict = Verdict.read(folder / "verify.json")
    libraries = read_table(folder / "libraries.parquet", tables.LIBRARIES)
    _check_sums(folder / "libraries.parquet", libraries)
    used = UsedCodeByLibrary.read(folder / "used.json").libraries
    unknown = set(map(escaped, used)) - set(libraries["library"])
    if unknown:
        raise TrimtabError(f"{folder / 'used.json'}: {min(unknown)}: not in libraries.parquet")
    runs = read_table(folder / "verify_runs.parquet", tables.RUNS)
    keys = _keys(runs, "workload", "condition", "repeat")
    _refuse_twice(f"{folder / 'verify_runs.parquet'}: run", keys)
    path = folder / "environment.json"
    built = BuiltEnvironment.read(path) if path.is_file() else None
    path = folder / "compressed.json"
    compressed = CompressedEnvironment.read(path) if path.is_file() else None
    files = read_table(folder / "files.parquet", tables.FILES)
    return DebloatedTarget(
        manifest.target,
        manifest,
        judged(folder, verdict),
        libraries,
        runs,
        used,
        built,
        files,
        compressed,
    )


def _tuning(folder: Path, inputs: EvaluationInputs) -> TunedCell:
    trials = _read_rows(folder / "trials.parquet", tables.TRIALS)
    keys = _keys(trials, "seed", "fold", "trial", "rung")
    _refuse_twice(f"{folder / 'trials.parquet'}: seed / fold / trial / rung", keys)
    tuner, workload, hardware, objective = folder.parts[-4:]
    label, after = inputs.tuners.get(tuner) or tuner, inputs.after.get(tuner, "")
    cell = TunedCell(tuner, workload, hardware, objective, label, trials, after=after)
    if (path := folder / "inference.parquet").is_file():
        cell = replace(cell, inference=read_table(path, tables.INFERENCE))
    if (path := folder / "inference_alone.parquet").is_file():
        cell = replace(cell, alone=read_table(path, tables.INFERENCE))
    return cell


def _characterized(paths: Iterable[Path]) -> pd.DataFrame:
    """Return the runs of all files; a workload that ran on several engines is one on each.

    `local[1]` and `local[2]` are one engine: its cores are a parameter.
    """
    empty = pd.DataFrame(columns=tables.CHARACTERIZATION_RUNS.names)
    frames = [_read_rows(path, tables.CHARACTERIZATION_RUNS) for path in paths]
    runs = pd.concat(frames, ignore_index=True) if frames else empty
    engines = runs["engine"].fillna("an unknown engine").map(lambda name: name.partition("[")[0])
    several = engines.groupby(runs["workload"]).transform("nunique") > 1
    runs["workload"] = runs["workload"].mask(several, runs["workload"] + " on " + engines)
    keys = _keys(runs, "workload", "phase", "settings", "repeat")
    _refuse_twice("run of", keys)
    return runs


def _protected(paths: Sequence[Path]) -> pd.DataFrame:
    frames = [_read_rows(path, tables.PROTECTED_RUNS) for path in paths]
    if not frames:
        return pd.DataFrame(columns=tables.PROTECTED_RUNS.names)
    runs = pd.concat(frames, ignore_index=True)
    names = ("variant", "enclave", "costs", "workers", "size", "block", "schedule_policy", "repeat")
    keys = runs.fillna({"enclave": "", "costs": ""})
    _refuse_twice("run of", _keys(keys, "task_program", "hardware", *names))
    return runs


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


def read_cells(folders: Iterable[Path]) -> tuple[Cell, ...]:
    """Read the folders of cells, one for each cluster, trace and policy.

    Raises UserError when a file is missing, a cell is given twice or a trace has two baselines, and
    TrimtabError when a file does not hold what the schedule stage writes.
    """
    cells = [_cell(folder) for folder in folders]
    _refuse_twice("schedule", [(*cell.setting, cell.summary.policy) for cell in cells])
    baselines = Counter(cell.setting for cell in cells if cell.summary.baseline)
    for (cluster, trace), count in baselines.items():
        if count > 1:
            raise UserError(f"trace {trace} on {cluster}: {count} policies are the baseline")
    labels = Counter((cell.setting, cell.label) for cell in cells)
    return tuple(
        replace(cell, label=f"{cell.label} ({cell.summary.policy})")
        if labels[cell.setting, cell.label] > 1
        else cell
        for cell in cells
    )


def _cell(folder: Path) -> Cell:
    summary = Summary.read(folder / "summary.json")
    formula, real = folder / "formula.json", folder / "real.json"
    there = real.is_file()
    return Cell(
        label=summary.policy_label,
        summary=summary,
        jobs=check_table(folder / "jobs.parquet", tables.SCHEDULED),
        allocations=check_table(_allocations(folder), tables.ALLOCATIONS),
        nodes=_read_rows(folder / "nodes.parquet", tables.NODES),
        load=read_table(folder / "load.parquet", tables.LOAD),
        formula=FormulaResponse.read(formula) if formula.is_file() else None,
        real=RealRun.read(real) if there else None,
        real_jobs=check_table(folder / "real.parquet", tables.SCHEDULED) if there else None,
    )


def _allocations(folder: Path) -> Path:
    old = folder / "stays.parquet"  # as older versions named it
    return old if old.is_file() else folder / "allocations.parquet"


def _read_rows(path: Path, schema: pa.Schema) -> pd.DataFrame:
    """Return a table that has rows; raises as `read_table` does, and TrimtabError without any."""
    frame = read_table(path, schema)
    if frame.empty:
        raise TrimtabError(f"{path}: no rows")
    return frame


def _refuse_twice(what: str, keys: Iterable[tuple[Any, ...]]) -> None:
    seen = set()
    for key in keys:
        if key in seen:
            raise UserError(f"{what} {' / '.join(map(str, key))} is given twice")
        seen.add(key)


def _keys(frame: pd.DataFrame, *columns: str) -> Iterable[tuple[Any, ...]]:
    return frame[list(columns)].itertuples(index=False, name=None)
