"""What was removed from each target, and its runs after that."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from trimtab.errors import TrimtabError
from trimtab.evaluation.inputs.checks import folders_of, keys_of, refuse_twice
from trimtab.evaluation.inputs.ends import judged
from trimtab.evaluation.inputs.measurements import DebloatedTarget, EvaluationInputs
from trimtab.records import tables
from trimtab.records.built_environment import BuiltEnvironment, CompressedEnvironment
from trimtab.records.imports.saved_starts import SavedStarts
from trimtab.records.manifest import Manifest
from trimtab.records.parquet.files import read_table
from trimtab.records.used import UsedCodeByLibrary
from trimtab.records.values import escaped
from trimtab.records.verdict import Verdict


def read(files: Sequence[Path], inputs: EvaluationInputs) -> tuple[DebloatedTarget, ...]:
    """Return each target on each hardware.

    Raises UserError where one is given twice, TrimtabError where a file contradicts another.
    """
    targets = tuple(_target(folder, files) for folder in folders_of(files, "manifest.json"))
    refuse_twice("target", [(t.label, t.hardware) for t in targets])
    return targets


def _target(folder: Path, given: Sequence[Path]) -> DebloatedTarget:
    manifest = Manifest.read(folder / "manifest.json")
    verdict = Verdict.read(folder / "verify.json")
    libraries = read_table(folder / "libraries.parquet", tables.LIBRARIES)
    _check_sums(folder / "libraries.parquet", libraries)
    used = UsedCodeByLibrary.read(folder / "used.json").libraries
    unknown = set(map(escaped, used)) - set(libraries["library"])
    if unknown:
        raise TrimtabError(f"{folder / 'used.json'}: {min(unknown)}: not in libraries.parquet")
    runs = read_table(folder / "verify_runs.parquet", tables.RUNS)
    keys = keys_of(runs, "workload", "condition", "repeat")
    refuse_twice(f"{folder / 'verify_runs.parquet'}: run", keys)
    path = folder / "environment.json"
    built = BuiltEnvironment.read(path) if path.is_file() else None
    path = folder / "compressed.json"
    compressed = CompressedEnvironment.read(path) if path.is_file() else None
    files = read_table(folder / "files.parquet", tables.FILES)
    path = folder / "start.json"
    starts = SavedStarts.read(path).workloads if path in given else ()
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
        starts,
    )


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
