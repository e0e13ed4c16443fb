"""Measured throughputs of training by model and type of GPU: `--throughputs`.

A table has the columns model, gpu_type and steps_per_s, one GPU each. Lines that begin with # are
remarks.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trimtab.batch.nodes import has_gpu_type
from trimtab.clusters.cluster import Cluster, NodeType
from trimtab.errors import UserError

_SHIPPED = Path(__file__).with_name("measured")
_COLUMNS = ["model", "gpu_type", "steps_per_s"]
_LARGEST_BYTES = 1 << 24


@dataclass(frozen=True)
class Throughputs:
    """Steps a second of each model (lower case) on each type of GPU (lower case)."""

    steps_per_s: pd.DataFrame  # models x types of GPU; NaN where there is none

    def apply(
        self,
        slowdown: NDArray[np.float64],
        kinds: pd.DataFrame,
        has_gpus: NDArray[np.bool_],
        cluster: Cluster,
    ) -> None:
        """Replace run times relative to the recorded one [kind, node type] where a rate is known.

        `kinds` has model, gpu_type and run_gpu_type of each kind. The reference is the GPU that a
        job ran on, else the first that it may run on. Where a model has a rate on one of the types,
        it runs on no others.
        """
        table = self.steps_per_s
        rates = np.full((len(table), len(cluster.node_types)), np.nan)
        for number, node_type in enumerate(cluster.node_types):
            gpu_type = _gpu_type(node_type, table.columns)
            if gpu_type is not None:
                rates[:, number] = table[gpu_type]
        rates[~(rates > 0)] = np.nan
        row_of = table.index.get_indexer(pd.Index(kinds["model"].str.lower()))
        ran_on = kinds["run_gpu_type"].where(kinds["run_gpu_type"] != "", kinds["gpu_type"])
        for kind, (row, name) in enumerate(zip(row_of, ran_on, strict=True)):
            known = np.isfinite(rates[row]) & np.isfinite(slowdown[kind])
            if row >= 0 and has_gpus[kind] and known.any():
                of_name = [has_gpu_type(node_type, name) for node_type in cluster.node_types]
                recorded = known & of_name
                reference = rates[row, np.argmax(recorded if recorded.any() else known)]
                slowdown[kind] = np.where(known, reference / rates[row], np.inf)


def _gpu_type(node_type: NodeType, gpu_types: pd.Index) -> str | None:
    """Return the type of GPU that a node's name has, as gpu_k80 has k80."""
    words = node_type.name.lower().split("_")
    return next((each for each in gpu_types if each in words), None)


def read_throughputs(given: str) -> Throughputs:
    """Return the throughputs of a CSV file, or of the shipped table of that name (gavel).

    Raises UserError with the file, and the row or column that is wrong.
    """
    shipped = _SHIPPED / f"{given}.csv"
    path = shipped if given.isidentifier() and shipped.is_file() else Path(given)
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            raise UserError(f"--throughputs {given}: above {_LARGEST_BYTES >> 20} MiB")
        table = pd.read_csv(path, comment="#", dtype=str, skipinitialspace=True)
    except OSError as error:
        known = ", ".join(sorted(each.stem for each in _SHIPPED.glob("*.csv")))
        raise UserError(
            f"--throughputs {given}: {error.strerror}; expected a CSV file, or one of: {known}"
        ) from None
    except (ValueError, pd.errors.ParserError) as error:
        raise UserError(f"--throughputs {given}: is no CSV file ({error})") from None
    return Throughputs(_by_model(given, table))


def _by_model(given: str, table: pd.DataFrame) -> pd.DataFrame:
    missing = [name for name in _COLUMNS if name not in table]
    if missing:
        have = ", ".join(map(str, table.columns[:10]))
        raise UserError(
            f"--throughputs {given}: no column {missing[0]}; expected {','.join(_COLUMNS)}, found"
            f" {have[:200]}"
        )
    rates = pd.to_numeric(table["steps_per_s"], errors="coerce")
    bad = ~((rates >= 0) & (rates < np.inf)) | table[_COLUMNS].isna().any(axis=1)
    keys = [table[name].str.strip().str.lower() for name in _COLUMNS[:2]]
    twice = pd.concat(keys, axis=1).duplicated()
    for wrong, expected in ((bad, "steps_per_s of 0 or more"), (twice, "each pair once")):
        if wrong.any():
            row = int(np.argmax(wrong))
            values = ", ".join(map(str, table[_COLUMNS].iloc[row]))
            raise UserError(
                f"--throughputs {given}: row {row + 1} below the header: {values[:200]}; expected"
                f" model, gpu_type, {expected}"
            )
    if table.empty:
        raise UserError(f"--throughputs {given}: has no rows below its header")
    wide = pd.DataFrame({"model": keys[0], "gpu_type": keys[1], "rate": rates})
    return wide.pivot(index="model", columns="gpu_type", values="rate")
