"""Searches that ran for real, small ones on two busy cores: their tables as CSV.

`tuning/recorded/{tuner}.{workload}.{objective}[.inference].csv`; how they were made stands in the
folder's README. Columns that tables have got since are null.
"""

import shutil
from pathlib import Path

import pandas as pd

from trimtab.records.parquet.files import write_table
from trimtab.records.tables import INFERENCE, TRIALS

RECORDED = Path(__file__).with_name("tuning") / "recorded"


def recorded(folder: Path, *names: str) -> tuple[Path, ...]:
    """Write the cells of these names, "tuner.workload.objective", and return their folders."""
    return tuple(_written(folder, name) for name in names)


def _written(folder: Path, name: str) -> Path:
    tuner, workload, objective = name.split(".")
    path = folder / tuner / workload / "this_machine" / objective
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    texts = {"failure": str, "configuration": str, "settings": str, "by_epoch": str}
    for suffix, table, schema in (("", "trials", TRIALS), (".inference", "inference", INFERENCE)):
        source = RECORDED / f"{name}{suffix}.csv"
        if source.exists():
            rows = pd.read_csv(source, dtype=texts).fillna({"failure": ""})
            frame = rows.reindex(columns=schema.names)
            write_table(path / f"{table}.parquet", schema, frame)
    return path
