"""The inference tuning server's measurements, repeated with nothing beside them.

Thesis, section 7.5.4: the error of the server, which measures while a model trains on other CPUs.
It can be measured for inference on this machine, but not for an emulated device.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from trimtab.files import remove_tree
from trimtab.records.parquet.files import read_table, write_table
from trimtab.records.tables import INFERENCE
from trimtab.records.tuning.inference import MeasuredInference

ROUNDS = 3  # over all configurations: times vary from minute to minute
# Measures inference with an architecture and a configuration, in a folder.
Measure = Callable[[Mapping[str, Any], Mapping[str, Any], Path], MeasuredInference]


def measure_alone(told: Path, alone: Path, measure: Measure) -> None:
    """Measure each configuration in the table `told` again, and write the table `alone`.

    Both have the columns of INFERENCE. `alone` has a row for each configuration and round; it is
    empty where the server measured nothing, or did not run. Raises as reading and writing tables
    does.
    """
    known, folder, rows = configurations(told), alone.with_suffix(""), list[dict[str, Any]]()
    for _ in range(ROUNDS):
        for architecture, configuration in zip(
            known["architecture"], known["configuration"], strict=True
        ):
            remove_tree(folder)  # also of a killed process
            folder.mkdir()
            found = measure(json.loads(architecture), json.loads(configuration), folder)
            rows.append(row_of(architecture, found))
    remove_tree(folder)
    write_table(alone, INFERENCE, pd.DataFrame(rows, columns=INFERENCE.names))


def configurations(told: Path) -> pd.DataFrame:
    """Return the rows of the table `told` without failures; none where there is no table.

    Raises as reading tables does.
    """
    known = read_table(told, INFERENCE) if told.exists() else pd.DataFrame(columns=INFERENCE.names)
    return known[known["failure"] == ""]


def row_of(architecture: str, one: MeasuredInference) -> dict[str, Any]:
    """Return the row in INFERENCE of one configuration; `architecture` is a JSON text."""
    return {
        "architecture": architecture,
        "configuration": json.dumps(one.configuration, sort_keys=True),
        "inference_s": None if one.failure else one.inference_s,
        "inference_j": None if one.failure else one.inference_j,
        "energy_source": one.energy_source or "unknown",
        "failure": one.failure,
    }
