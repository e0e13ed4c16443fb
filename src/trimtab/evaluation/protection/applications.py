"""Whole applications in enclaves, alone and with workers (Rocha's thesis, Figure 8.8)."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import altair as alt

from trimtab.evaluation.protection.section import (
    DETAILS,
    PROGRAM,
    RUN,
    RUN_TIME,
    ProtectionSection,
    row_of,
    with_change,
)
from trimtab.evaluation.report.figures import Figure, data, hover, in_order
from trimtab.evaluation.report.tables import Column, Row, Table, compared
from trimtab.evaluation.schedules.section import figure_of, palette_colour, zero_line

_SAME = ("name", "hardware", "enclave", "how")
_CAPTION = "The change is from *sgx*, which has one worker, as in the thesis."


class Macro(ProtectionSection):
    """Run time and energy of whole applications, relative to one worker in an enclave."""

    order = 985

    @cached_property
    def rows(self) -> list[Row]:
        """The *sgx* and *sgxo* set-ups of programs that are whole applications."""
        found = self.of_one_policy(self.set_ups)
        ours = [
            row_of(one)
            for one in found.itertuples()
            if (facts := self.programs[str(one.task_program)]).macro
            and one.variant in ("sgx", "sgxo")
            and (one.size, one.block) == (facts.size, facts.block)
        ]
        return list(with_change(ours, _SAME, ("variant", "sgx")))

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each application, variant, enclave and number of workers."""
        yield compared(
            "protection_macro",
            "Whole applications",
            _CAPTION,
            (
                *RUN,
                RUN_TIME,
                Column("change_pct", "Change, %", 1),
                Column("energy_j", "Energy, J", 3),
                Column("energy_change_pct", "Change of energy, %", 1),
                DETAILS,
            ),
            self.rows,
            who=PROGRAM,
            missing="None of the experiment's programs is a whole application.",
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the changes over workers."""
        panels = []
        for key, title in (("change_pct", "Run time"), ("energy_change_pct", "Energy")):
            values = [
                {
                    "program": row["name"],
                    "workers": row["workers"],
                    "enclave": f"{row['enclave']}, {row['how']}",
                    "change": row[key],
                }
                for row in self.rows
                if row["variant"] == "sgxo" and row.get(key) is not None
            ]
            if values:
                panels.append(_panel(values, title))
        yield from figure_of("protection_macro", "Whole applications", _CAPTION, panels)

    def metrics(self) -> Mapping[str, Any]:
        """Return changes of run time by application, by enclave and `how`, and by workers."""
        found: dict[str, Any] = {}
        for row in self.rows:
            if row["variant"] == "sgxo" and row["change_pct"] is not None:
                what = f"{row['enclave']}, {row['how']}/{row['workers']}"
                found.setdefault(str(row["name"]), {})[what] = row["change_pct"]
        return {"protection": {"macro_change_pct": found}} if found else {}


def _panel(values: list[dict[str, Any]], title: str) -> Any:
    enclaves = in_order(value["enclave"] for value in values)
    bars = (
        alt.Chart(data(values))
        .mark_bar()
        .encode(
            x=alt.X("workers:O", title="Workers"),
            xOffset=alt.XOffset("enclave:N", sort=enclaves),
            y=alt.Y("change:Q", title=f"{title}, % of sgx"),
            color=palette_colour("enclave", enclaves, "Enclave"),
            tooltip=hover("program", "enclave", "workers", change=".1f"),
        )
    )
    programs = in_order(value["program"] for value in values)
    chart = alt.layer(bars, zero_line("y"), data=data(values)).properties(width=200, height=180)
    return chart.facet(column=alt.Column("program:N", sort=programs, title=None))
