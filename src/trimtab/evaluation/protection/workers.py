"""The gain by more workers, with and without protection (Rocha's thesis, Figure 8.4)."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from trimtab.evaluation.protection.line_chart import lines_figure
from trimtab.evaluation.protection.published_run_times import authors_rows
from trimtab.evaluation.protection.section import (
    AUTHORS,
    DETAILS,
    PROGRAM,
    RUN,
    RUN_TIME,
    WITH_TASKS,
    ProtectionSection,
    row_of,
    with_change,
)
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.tables import Column, Row, Table, compared, is_published

_SAME = ("name", "hardware", "variant", "enclave", "how")
_CAPTION = (
    "The change is from one worker of the same variant and enclave. Simulations are of the graphs "
    "that the programs recorded here, in the modelled enclave, on as many equal cores."
)


class Workers(ProtectionSection):
    """Run time by the number of workers."""

    order = 982

    @cached_property
    def rows(self) -> list[Row]:
        """Set-ups of the variants with tasks, ours first, then the authors'."""
        own = self.own(self.of_one_policy(self.set_ups))
        ours = own[own["variant"].isin(WITH_TASKS)]
        rows = [row_of(one) for one in ours.itertuples()]
        rows += [{**row, "how": AUTHORS} for row in authors_rows(self.published_names, "threads")]
        return list(with_change(rows, _SAME, ("workers", 1)))

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each program, variant, enclave and number of workers."""
        yield compared(
            "protection_workers",
            "Number of workers",
            _CAPTION,
            (
                *RUN,
                RUN_TIME,
                Column("change_pct", "Change from one worker, %", 1),
                Column("energy_j", "Energy, J", 3),
                Column("energy_change_pct", "Change of energy, %", 1),
                DETAILS,
            ),
            self.rows,
            who=PROGRAM,
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield run times over workers, relative to one."""
        yield from lines_figure(
            "protection_workers", "Number of workers", _CAPTION, self.rows, "workers", "Workers"
        )

    def metrics(self) -> Mapping[str, Any]:
        """Return changes by program, variant, enclave and `how`, and number of workers."""
        found: dict[str, Any] = {}
        for row in self.rows:
            if not is_published(row) and row["change_pct"] is not None:
                what = f"{row['variant']}/{row['enclave']}, {row['how']}/{row['workers']}"
                found.setdefault(str(row["name"]), {})[what] = row["change_pct"]
        return {"protection": {"workers_change_pct": found}}
