"""What an experiment is evaluated from: the folders of the earlier stages, read and checked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from trimtab.errors import TrimtabError, UserError
from trimtab.files import read_json
from trimtab.schemas import EPOCHS, LIBRARIES, RUNS, read_table

PROFILE_FILES = ("usage.json", "runs.parquet", "epochs.parquet")
DEBLOAT_FILES = ("manifest.json", "verify.json", "libraries.parquet", "verify_runs.parquet")
TIMINGS = ("trace_s", "locate_s", "rewrite_s")


@dataclass(frozen=True)
class Inputs:
    """The folders and the facts that a report is made from.

    `profiles` are folders with PROFILE_FILES, one for each workload and hardware; `debloats` are
    folders with DEBLOAT_FILES, one for each target and hardware. `machine` and `date` say in
    words where and when the runs were made; `data_sets` says of a workload which data it read.
    """

    experiment: str
    machine: str
    date: str
    profiles: tuple[Path, ...]
    debloats: tuple[Path, ...]
    data_sets: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """One target on one hardware: what was removed from its libraries, and the runs after it.

    `libraries` has the columns of LIBRARIES, `runs` those of RUNS (conditions original and
    debloated). `label` is the target's name, with the hardware where the experiment has several.
    """

    label: str
    hardware: str
    workloads: tuple[str, ...]
    manifest: Mapping[str, Any]
    verify: Mapping[str, Any]
    libraries: pd.DataFrame
    runs: pd.DataFrame


@dataclass(frozen=True)
class Profile:
    """One workload on one hardware: what it used, its runs (RUNS) and its epochs (EPOCHS)."""

    label: str
    workload: str
    hardware: str
    usage: Mapping[str, Any]
    runs: pd.DataFrame
    epochs: pd.DataFrame


@dataclass(frozen=True)
class Measurements:
    """Everything that was measured for an experiment."""

    inputs: Inputs
    targets: tuple[Target, ...]
    profiles: tuple[Profile, ...]


def load(inputs: Inputs) -> Measurements:
    """Read the files of `inputs` and check that they belong together.

    Raises UserError when a file is missing, a trace is incomplete or a target was debloated for
    a workload whose profile is not given, and TrimtabError when a file contradicts itself.
    """
    if not inputs.debloats:
        raise UserError(f"experiment {inputs.experiment}: no debloated target was given")
    profiles = [_profile(folder) for folder in inputs.profiles]
    targets = [_target(folder) for folder in inputs.debloats]
    _refuse_twice("workload", [(p.workload, p.hardware) for p in profiles])
    _refuse_twice("target", [(t.label, t.hardware) for t in targets])
    known = {(p.workload, p.hardware) for p in profiles}
    for target in targets:
        for workload in target.workloads:
            if (workload, target.hardware) not in known:
                raise UserError(
                    f"target {target.label} was debloated for the workload {workload} on "
                    f"{target.hardware}, whose profile is not among the inputs: add its folder"
                )
    if len({target.hardware for target in targets}) > 1:
        targets = [replace(t, label=f"{t.label} on {t.hardware}") for t in targets]
        profiles = [replace(p, label=f"{p.label} on {p.hardware}") for p in profiles]
    return Measurements(inputs, tuple(targets), tuple(profiles))


def _profile(folder: Path) -> Profile:
    _require(folder, PROFILE_FILES, "profile")
    usage = _document(folder / "usage.json", ("complete", "libraries"))
    if usage["complete"] is not True:
        reasons = "; ".join(usage.get("incomplete_because") or ["no reason was recorded"])
        raise UserError(
            f"{folder / 'usage.json'}: the trace is incomplete ({reasons}); "
            "nothing is concluded from it: profile the workload again"
        )
    runs = _table(folder / "runs.parquet", RUNS)
    epochs = _table(folder / "epochs.parquet", EPOCHS, may_be_empty=True)
    workload, hardware = _only(runs, folder / "runs.parquet", ("workload", "hardware"))
    return Profile(workload, workload, hardware, usage, runs, epochs)


def _target(folder: Path) -> Target:
    _require(folder, DEBLOAT_FILES, "debloat")
    manifest = _document(folder / "manifest.json", ("target", "hardware", "workloads", "timings"))
    verify = _document(folder / "verify.json", ("passed", "workloads"))
    missing = [key for key in TIMINGS if key not in manifest["timings"]]
    if missing:
        raise TrimtabError(f"{folder / 'manifest.json'}: timings lacks {', '.join(missing)}")
    libraries = _table(folder / "libraries.parquet", LIBRARIES)
    _check_sums(folder / "libraries.parquet", libraries)
    runs = _table(folder / "verify_runs.parquet", RUNS, may_be_empty=True)
    _refuse_twice(
        f"{folder / 'verify_runs.parquet'}: run",
        runs[["workload", "condition", "repeat"]].itertuples(index=False, name=None),
    )
    return Target(
        label=str(manifest["target"]),
        hardware=str(manifest["hardware"]),
        workloads=tuple(str(name) for name in manifest["workloads"]),
        manifest=manifest,
        verify=verify,
        libraries=libraries,
        runs=runs,
    )


def _require(folder: Path, names: Iterable[str], stage: str) -> None:
    for name in names:
        if not (folder / name).is_file():
            raise UserError(f"{folder / name}: missing; run the stage `{stage}` first")


def _document(path: Path, keys: Iterable[str]) -> dict[str, Any]:
    try:
        document = read_json(path)
    except ValueError as error:
        raise TrimtabError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise TrimtabError(f"{path}: expected an object with the keys {', '.join(keys)}")
    missing = [key for key in keys if key not in document]
    if missing:
        raise TrimtabError(f"{path}: lacks {', '.join(missing)}; make it again")
    return document


def _table(path: Path, schema: pa.Schema, may_be_empty: bool = False) -> pd.DataFrame:
    try:
        frame = read_table(path, schema)
    except pa.ArrowInvalid as error:
        raise TrimtabError(f"{path}: not a Parquet file: {error}") from None
    if frame.empty and not may_be_empty:
        raise TrimtabError(f"{path}: no rows")
    return frame


def _only(frame: pd.DataFrame, path: Path, columns: tuple[str, str]) -> tuple[str, str]:
    for column in columns:
        if frame[column].nunique() != 1:
            raise TrimtabError(f"{path}: expected one {column}, found {set(frame[column])}")
    return str(frame[columns[0]].iloc[0]), str(frame[columns[1]].iloc[0])


def _check_sums(path: Path, frame: pd.DataFrame) -> None:
    """Hold every library to the invariant of LIBRARIES: the parts add up to the file's size."""
    before = frame["kept_bytes"] + frame["removed_bytes"] == frame["size_before_bytes"]
    after = frame["kept_bytes"] + frame["overhead_bytes"] == frame["size_after_bytes"]
    wrong = frame.loc[~(before & after), "library"]
    if not wrong.empty:
        raise TrimtabError(
            f"{path}: {wrong.iloc[0]}: kept + removed is not the size before, "
            "or kept + overhead is not the size after"
        )


def _refuse_twice(what: str, keys: Iterable[tuple[Any, ...]]) -> None:
    seen = set()
    for key in keys:
        if key in seen:
            raise UserError(f"{what} {' / '.join(map(str, key))} is given twice")
        seen.add(key)
