"""The effect of scheduling policies (Rocha's thesis, Figure 8.5)."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import altair as alt

from trimtab.evaluation.protection.published_run_times import authors_rows
from trimtab.evaluation.protection.section import (
    AUTHORS,
    DETAILS,
    PROGRAM,
    RUN,
    RUN_TIME,
    SIMULATED,
    WITH_TASKS,
    ProtectionSection,
    row_of,
    with_change,
)
from trimtab.evaluation.report.figures import Figure, data, hover, in_order
from trimtab.evaluation.report.tables import Column, Row, Table, compared, is_published
from trimtab.evaluation.schedules.section import figure_of, palette_colour

_SAME = ("name", "hardware", "variant", "enclave", "how", "workers")
_CAPTION = (
    "The change is from the first policy. Breadth first and work first are from section 8.3.5; "
    "enclave aware is our own. Our values are simulated; in the real runs, OpenMP chooses the "
    "order."
)


class Policies(ProtectionSection):
    """Run time by scheduling policy."""

    order = 983

    @property
    def applies(self) -> bool:
        """Whether anything was simulated."""
        return super().applies and bool((self.set_ups["how"] == SIMULATED).any())

    @cached_property
    def rows(self) -> list[Row]:
        """Simulated set-ups of the variants with tasks, then the authors'."""
        own = self.own(self.set_ups)
        tasks = own["variant"].isin(WITH_TASKS)
        ours = own[tasks & (own["how"] == SIMULATED)]
        rows = [row_of(one) for one in ours.itertuples()]
        theirs = authors_rows(self.published_names, "scheduler")
        rows += [{**row, "how": AUTHORS} for row in theirs]
        first = self.first_policy
        return [
            row
            for row in with_change(rows, _SAME, ("schedule_policy", first))
            if row["how"] == AUTHORS or row["change_pct"] is not None
        ]

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each program, variant, enclave, number of workers and policy."""
        yield compared(
            "protection_policies",
            "Scheduling policies",
            _CAPTION,
            (
                *RUN,
                Column("schedule_policy", "Policy"),
                RUN_TIME,
                Column("change_pct", "Change, %", 2),
                DETAILS,
            ),
            self.rows,
            who=PROGRAM,
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield the changes, a panel for each program."""
        values = [
            {
                "program": row["name"],
                "policy": row["schedule_policy"],
                "what": f"{row['variant']}, {row['enclave']}, {row['how']}, {row['workers']}",
                "change": row["change_pct"],
            }
            for row in self.rows
            if (row["change_pct"] is not None and row["workers"] != 1) or row["how"] == AUTHORS
        ]
        policies = in_order(value["policy"] for value in values)
        panels = [
            _panel([value for value in values if value["program"] == program], program, policies)
            for program in in_order(value["program"] for value in values)
        ]
        yield from figure_of(
            "protection_policies",
            "Scheduling policies",
            f"{_CAPTION} A row is a variant, its enclave, how it came about and the workers.",
            panels,
        )

    def metrics(self) -> Mapping[str, Any]:
        """Return the largest difference between policies by program, in per cent."""
        found: dict[str, float] = {}
        for row in self.rows:
            if not is_published(row) and row["change_pct"] is not None:
                name = str(row["name"])
                found[name] = max(found.get(name, 0.0), abs(float(row["change_pct"])))
        return {"protection": {"most_between_policies_pct": found}}


def _panel(values: list[dict[str, Any]], program: str, policies: list[str]) -> Any:
    return (
        alt.Chart(data(values))
        .mark_point(filled=True, size=50)
        .encode(
            x=alt.X("change:Q", title="Change from the first policy, %"),
            y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=320)),
            color=palette_colour("policy", policies, "Policy"),
            tooltip=hover("what", "policy", change=".2f"),
        )
        .properties(width=360, height=16 * len({value["what"] for value in values}), title=program)
    )
