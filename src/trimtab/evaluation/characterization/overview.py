"""The characterized workloads: their data, their runs, and our overhead beside Spark."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from trimtab.evaluation.characterization.section import WORKLOAD, CharacterizationSection
from trimtab.evaluation.report.tables import Column, Row, Table
from trimtab.records.characterization.settings import kinds_of


class Overview(CharacterizationSection):
    """A line for each workload."""

    order = 910

    def make_tables(self) -> Iterator[Table]:
        """Yield the workloads."""
        yield Table(
            "characterized",
            "What was characterized",
            "Every workload is a data set and a method. It ran on Spark at the defaults and "
            "with parameters varied, alone and together. Own time is the share of a run that "
            "our code took, beside Spark.",
            (
                *WORKLOAD,
                Column("data", "Data"),
                Column("data_source", "From"),
                Column("method", "Method"),
                Column("task", "Task"),
                Column("quality_measure", "Quality by"),
                Column("engine", "On"),
                Column("records", "Records", 0),
                Column("features", "Features", 0),
                Column("parameters", "Parameters varied", 0),
                Column("runs", "Runs", 0),
                Column("failed", "Failed", 0),
                Column("own_pct", "Our own time, %", 2),
                Column("energy_source", "Energy"),
            ),
            tuple(_row(name, own) for name, own in self.by_workload.items()),
        )

    def caveats(self) -> Iterator[tuple[str, str]]:
        """Yield the failures."""
        for name, own in self.by_workload.items():
            if (failed := int((~own["complete"].astype(bool)).sum())) > 0:
                yield name, f"{failed} of {len(own)} runs failed, and are passed over."

    def metrics(self) -> Mapping[str, Any]:
        """Return the numbers of workloads and runs."""
        return {
            "characterization": {
                "workloads": int(self.complete["workload"].nunique()),
                "data_sets": int(self.complete["data"].nunique()),
                "methods": int(self.complete["method"].nunique()),
                "runs": len(self.runs),
                "failed": len(self.runs) - len(self.complete),
                "own_pct": _own_pct(self.complete),
            }
        }


def _row(name: str, runs: pd.DataFrame) -> Row:
    first = runs.iloc[0]
    complete = runs[runs["complete"].astype(bool)]
    texts = ("data", "method", "task", "quality_measure", "engine")
    return {
        "name": name,
        **{key: first[key] for key in texts},
        "data_source": " and ".join(sorted(set(complete["data_source"].dropna()))),
        **{
            key: None if pd.isna(first[key]) else int(first[key]) for key in ("records", "features")
        },
        "parameters": len(kinds_of(runs)),
        "runs": len(runs),
        "failed": len(runs) - len(complete),
        "own_pct": _own_pct(complete),
        "energy_source": " and ".join(sorted(set(complete["energy_source"].dropna()))),
    }


def _own_pct(runs: pd.DataFrame) -> float | None:
    known = runs.dropna(subset=["own_s", "wall_s"])
    own_s = float(known["own_s"].sum())
    rest_s = float(known["wall_s"].sum()) - own_s
    return 100 * own_s / rest_s if rest_s > 0 else None
