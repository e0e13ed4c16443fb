"""The cost of protection, and the gain by parallel tasks (Rocha's thesis, Figure 8.2)."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import altair as alt
import pandas as pd

from trimtab.evaluation.protection.section import (
    DETAILS,
    PROGRAM,
    RUN,
    RUN_HERE,
    RUN_TIME,
    VARIANTS,
    ProtectionSection,
    change_pct,
    row_of,
)
from trimtab.evaluation.report.figures import Figure, data, hover, in_order
from trimtab.evaluation.report.key_figures import KeyFigure, difference
from trimtab.evaluation.report.tables import Column, Row, Table, compared, numbers, shown
from trimtab.evaluation.schedules.section import figure_of, palette_colour

_CAPTION = (
    "Each variant at its fastest number of workers, beside the original of the same kind: runs "
    "beside runs, simulations beside simulations. Enclaves that ran here have no hardware "
    "protection; SGX is modelled."
)
_KEYS = ("name", "hardware", "variant", "enclave", "how")
_WITH = {"ompss": "original", "sgxo": "sgx", "esgxo": "esgx"}


class ProtectionOverhead(ProtectionSection):
    """Run time and energy by program and variant."""

    order = 981

    @cached_property
    def rows(self) -> list[Row]:
        """The fastest set-up of each program, variant and enclave, relative to the original."""
        return list(_rows(self.own(self.of_one_policy(self.set_ups))))

    def make_tables(self) -> Iterator[Table]:
        """Yield a row for each program, variant and enclave."""
        yield compared(
            "protection_price",
            "What protection costs",
            f"{_CAPTION} The change is from the same variant without tasks in parallel.",
            (
                *RUN,
                RUN_TIME,
                Column("overhead_pct", "Over the original, %", 0),
                Column("change_pct", "By parallel tasks, %", 0),
                Column("energy_j", "Energy, J", 3),
                Column("energy_overhead_pct", "Energy over the original, %", 0),
                Column("energy_source", "Energy by"),
                DETAILS,
            ),
            self.rows,
            who=PROGRAM,
        )

    def make_figures(self) -> Iterator[Figure]:
        """Yield bars: run time, and energy where known."""
        panels = []
        for key, title in (("run_s", "Run time, s"), ("energy_j", "Energy, J")):
            values = [
                {
                    "program": row["name"],
                    "variant": row["variant"],
                    "enclave": f"{row['enclave']}, {row['how']}",
                    "value": row[key],
                }
                for row in self.rows
                if numbers(row).get(key)
            ]
            if values:
                panels.append(_panel(values, title))
        yield from figure_of(
            "protection_price",
            "What protection costs",
            f"{_CAPTION} Axes go by powers of ten.",
            panels,
        )

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the cost of an enclave for each program, in its first kind of enclave."""
        kind = next((row["enclave"] for row in self.rows if _is_protected(row)), None)
        by_key = {
            (row["name"], row["variant"]): row
            for row in self.rows
            if row["how"] == RUN_HERE and row["enclave"] in (kind, "none")
        }
        for (program, variant), row in by_key.items():
            before, parallel = (by_key.get((program, of)) for of in ("original", "sgxo"))
            if variant != "sgx" or before is None:
                continue
            words = f"{_seconds(before)} → {_seconds(row)} s on one worker"
            if parallel is not None:
                words += f"; with parallel tasks, on {parallel['workers']}, {_seconds(parallel)} s"
            label = f"Price of an enclave ({kind}): {program}"
            figure = difference(
                label, numbers(row).get("overhead_pct"), _interval_pct(before, row), words
            )
            yield "Task programs, run here: no hardware enclave", figure

    def metrics(self) -> Mapping[str, Any]:
        """Return overheads by program, variant, enclave and `how`."""
        found: dict[str, Any] = {}
        for row in self.rows:
            path = (row["name"], row["variant"], f"{row['enclave']}, {row['how']}")
            cells = {key: numbers(row)[key] for key in ("overhead_pct",) if key in numbers(row)}
            found.setdefault(str(path[0]), {}).setdefault(str(path[1]), {})[path[2]] = cells
        return {"protection": {"price": found}}


def _is_protected(row: Row) -> bool:
    return row["how"] == RUN_HERE and row["variant"] == "sgx"


def _interval_pct(before: Row, row: Row) -> tuple[float, float] | None:
    """Return the least and the most overhead of any run over any; None after one run each."""
    first, second = numbers(before), numbers(row)
    ends = "run_low_s", "run_high_s"
    if not all(first.get(end) and end in second for end in ends):
        return None
    if first[ends[0]] == first[ends[1]] or second[ends[0]] == second[ends[1]]:
        return None
    low, high = (second[end] / first[other] for end, other in zip(ends, ends[::-1], strict=True))
    return 100 * (low - 1), 100 * (high - 1)


def _seconds(row: Row) -> str:
    return shown(row["run_s"], 3)


def _rows(set_ups: pd.DataFrame) -> Iterator[Row]:
    fastest = set_ups.loc[set_ups.groupby(list(_KEYS), sort=False)["run_s"].idxmin()]
    by_key = {tuple(row[key] for key in _KEYS): row for row in map(row_of, fastest.itertuples())}
    for (program, hardware, variant, enclave, how), row in by_key.items():
        original = by_key.get((program, hardware, "original", "none", how), {})
        alone = by_key.get((program, hardware, _WITH.get(variant, ""), enclave, how), {})
        yield {
            **row,
            "overhead_pct": change_pct(row["run_s"], original.get("run_s")),
            "energy_overhead_pct": change_pct(row["energy_j"], original.get("energy_j")),
            "change_pct": change_pct(row["run_s"], alone.get("run_s")),
        }


def _panel(values: list[dict[str, Any]], title: str) -> Any:
    enclaves = in_order(value["enclave"] for value in values)
    programs = in_order(value["program"] for value in values)
    return (
        alt.Chart(data(values))
        .mark_bar()
        .encode(
            x=alt.X("variant:N", sort=list(VARIANTS), title=None, axis=alt.Axis(labelAngle=-40)),
            xOffset=alt.XOffset("enclave:N", sort=enclaves),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(type="log")),
            y2=alt.datum(min(value["value"] for value in values) / 2),
            color=palette_colour("enclave", enclaves, "Enclave"),
            facet=alt.Facet("program:N", sort=programs, title=None, columns=3, spacing=12),
            tooltip=hover("program", "variant", "enclave", value=".4g"),
        )
        .properties(width=alt.Step(7), height=200)
    )
