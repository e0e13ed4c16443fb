"""The runs of learning workloads on Spark (CHARACTERIZATION_RUNS)."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from trimtab.evaluation.inputs.checks import keys_of, read_rows, refuse_twice
from trimtab.evaluation.inputs.measurements import EvaluationInputs
from trimtab.records.tables import CHARACTERIZATION_RUNS


def read(files: Sequence[Path], inputs: EvaluationInputs) -> pd.DataFrame:
    """Return the runs of all files; a workload that ran on several engines is one on each.

    `local[1]` and `local[2]` are one engine: its cores are a parameter.
    """
    frames = [read_rows(path, CHARACTERIZATION_RUNS) for path in files]
    runs = pd.concat(frames, ignore_index=True)
    engines = runs["engine"].fillna("an unknown engine").map(lambda name: name.partition("[")[0])
    several = engines.groupby(runs["workload"]).transform("nunique") > 1
    runs["workload"] = runs["workload"].mask(several, runs["workload"] + " on " + engines)
    keys = keys_of(runs, "workload", "phase", "settings", "repeat")
    refuse_twice("run of", keys)
    return runs
