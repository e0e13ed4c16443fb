"""The base of the sections about secure task graphs."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from trimtab.config.groups.protection.task_program import TaskProgram
from trimtab.evaluation.report.section import Chapter, ReportSection
from trimtab.evaluation.report.tables import MEASURED, MODELLED, Column, Row, number

PROTECTION = Chapter("protection", "Secure task graphs", "Secure tasks")
PROGRAM = (Column("name", "Program"),)
RUN = (
    Column("variant", "Variant"),
    Column("enclave", "Enclave"),
    Column("how", "How"),
    Column("workers", "Workers", 0),
)
RUN_TIME = Column("run_s", "Run time, s", 4, ("run_low_s", "run_high_s"))
DETAILS = Column("details", "Remark")
NO_ENCLAVE = "none"
RUN_HERE, SIMULATED, AUTHORS = "run here", "simulated", "authors"
VARIANTS = ("original", "ompss", "sgx", "sgxo", "esgx", "esgxo")
WITH_TASKS = ("ompss", "sgxo", "esgxo")
_OPENMP = "openmp"
_SET_UP = (
    "task_program", "hardware", "variant", "enclave", "how", "workers", "size", "block",
    "schedule_policy",
)  # fmt: skip


class ProtectionSection(ReportSection):
    """A section about task programs, run and simulated in enclaves."""

    stage = "protect"
    chapter: ClassVar[Chapter | None] = PROTECTION

    @property
    def runs(self) -> pd.DataFrame:
        """All runs and simulations, with the columns of PROTECTED_RUNS."""
        found: pd.DataFrame = self.results
        return found

    @cached_property
    def set_ups(self) -> pd.DataFrame:
        """A row for each set-up: medians of its successful runs.

        Besides the columns of the set-up, it has name, tasks, run_s with its ends run_low_s and
        run_high_s, energy_j, energy_source and source. `enclave` is "none" outside; `how` is "run
        here" or "simulated".
        """
        return medians(self.runs, self.programs)

    def own(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the `rows` with a program's own size and block, without whole applications."""
        facts = self.programs
        keep = [
            (size, block) == (facts[name].size, facts[name].block) and not facts[name].macro
            for name, size, block in zip(
                rows["task_program"], rows["size"], rows["block"], strict=True
            )
        ]
        return rows[np.array(keep, np.bool_)]  # keeps all columns, even without rows

    @property
    def programs(self) -> Mapping[str, TaskProgram]:
        """What the configuration says of programs, by name."""
        return self.measurements.inputs.options["task_program"]

    @cached_property
    def published_names(self) -> dict[str, str]:
        """The labels of the programs, by the authors' names."""
        return {it.published: it.label or it.name for it in self.programs.values() if it.published}

    @cached_property
    def first_policy(self) -> str:
        """The policy of simulations where only one is shown: the first requested one."""
        policies = self.runs["schedule_policy"]
        return next((name for name in policies if name != _OPENMP), _OPENMP)

    def of_one_policy(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return real runs, and simulations under the first policy."""
        return rows[rows["schedule_policy"].isin([_OPENMP, self.first_policy])]


def medians(runs: pd.DataFrame, facts: Mapping[str, TaskProgram]) -> pd.DataFrame:
    """Return a row for each set-up of `runs`, which has the columns of PROTECTED_RUNS."""
    complete = runs[runs["complete"].astype(bool)]
    how = complete["schedule_policy"].map(lambda name: RUN_HERE if name == _OPENMP else SIMULATED)
    waits = (how == RUN_HERE) & complete["costs"].notna()
    enclave = complete["enclave"].astype(object).where(complete["enclave"].notna(), NO_ENCLAVE)
    enclave = enclave.mask(waits, enclave.astype(str) + " (" + complete["costs"].astype(str) + ")")
    grouped = complete.assign(how=how, enclave=enclave).groupby(list(_SET_UP), sort=False)
    found = grouped.agg(
        tasks=("tasks", "first"),
        runs=("run_s", "size"),
        run_s=("run_s", "median"),
        run_low_s=("run_s", "min"),
        run_high_s=("run_s", "max"),
        energy_j=("energy_j", "median"),
        energy_source=("energy_source", _worst),
        source=("source", "first"),
    ).reset_index()
    names = [facts[name].label or name for name in found["task_program"]]
    return found.assign(name=names)


def row_of(set_up: Any, **more: Any) -> dict[str, Any]:
    """Return the cells of a set-up, a named tuple of `set_ups`, as a row of a table."""
    keys = ("name", "hardware", "variant", "enclave", "how", "schedule_policy", "source")
    return {
        **{key: getattr(set_up, key) for key in keys},
        **{key: int(getattr(set_up, key)) for key in ("workers", "size", "block", "tasks")},
        **{key: float(getattr(set_up, key)) for key in ("run_s", "run_low_s", "run_high_s")},
        "energy_j": number(set_up.energy_j),
        "energy_source": set_up.energy_source,
        **more,
    }


def change_pct(value: float | None, base: float | None) -> float | None:
    """Return the difference of `value` from `base` in per cent, or None; below 0 is less."""
    return 100 * (value / base - 1) if base and value is not None else None


def with_change(
    rows: Iterable[dict[str, Any]], same: tuple[str, ...], is_base: tuple[str, Any]
) -> Iterator[Row]:
    """Yield rows with `change_pct` and `energy_change_pct`, from the base with equal `same` keys.

    `is_base` is the key and the value of the base, or `min` for the least value. A row without a
    base has no change.
    """
    listed = list(rows)
    key, value = is_base
    bases: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in listed:
        of_it = tuple(row.get(name) for name in same)
        if value is min:
            if of_it not in bases or row[key] < bases[of_it][key]:
                bases[of_it] = row
        elif row[key] == value:
            bases.setdefault(of_it, row)
    for row in listed:
        base = bases.get(tuple(row.get(name) for name in same), {})
        yield {
            **row,
            "change_pct": change_pct(row["run_s"], base.get("run_s")),
            "energy_change_pct": change_pct(row.get("energy_j"), base.get("energy_j")),
        }


def _worst(sources: "pd.Series[Any]") -> str:
    """Return measured only if every joule was, modelled if any is known, else unknown."""
    known = set(sources.dropna()) - {"unknown"}
    if not known:
        return "unknown"
    return MEASURED if known == {MEASURED} else MODELLED
