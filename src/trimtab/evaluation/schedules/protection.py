"""The cost of protection: each cell with secure jobs, compared without protection."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.schedules import Cell, CellGroup, relative_pct
from trimtab.evaluation.report.figures import Figure, data, hover
from trimtab.evaluation.report.key_figures import KeyFigure, difference
from trimtab.evaluation.report.tables import (
    MODELLED,
    SOURCE_COLUMNS,
    Column,
    Row,
    Table,
    numbers,
    shown,
)
from trimtab.evaluation.schedules.by_class import difference_key, percent, spread_keys
from trimtab.evaluation.schedules.section import (
    POLICY_COLUMNS,
    ScheduleSection,
    cell_row,
    class_colour,
    own_figure_of,
    zero_line,
)
from trimtab.records.figures import TotalFigures
from trimtab.records.summary import Protection

_TIMES = {
    "response_mean_s": "Mean response, s",
    "response_p95_s": "95th percentile, s",
    "execution_mean_s": "Execution, s",
}
_SAID = (
    "The same jobs on the same cluster under the same policy, protected or not. What an enclave "
    "costs is modelled, from published figures: the best estimate, and the least and the most of "
    "the range under it."
)


class PriceOfProtection(ScheduleSection):
    """Response times, waste and energy with and without protection, if a class is secure."""

    order = 795

    @property
    def applies(self) -> bool:
        """Whether any cell has a secure class."""
        return any(cell.summary.protection for cell in self.schedules.cells)

    def make_figures(self) -> Iterator[Figure]:
        """Differences in mean response, a panel for each setting."""
        panels = [
            _panel(setting, values)
            for setting in self.charted.settings
            if (values := _values(setting))
        ]
        for figure in own_figure_of(
            "price_of_protection",
            "Response time with protection, against none",
            "Difference in per cent of the mean response of each class; above zero protection "
            "makes it slower. Jobs that are not protected themselves change too, as others take "
            "other nodes. Simulated; the cost of an enclave is modelled at its best estimate.",
            panels,
        ):
            yield self.of_main_classes(figure)

    def make_tables(self) -> Iterator[Table]:
        """A row for each class of each cell, and one for the energy of each cell."""
        cells = [(cell, of) for cell in self.schedules.cells if (of := cell.summary.protection)]
        yield Table(
            "price_of_protection",
            "What protection costs, by class",
            _SAID,
            (
                *POLICY_COLUMNS,
                Column("job_class", "Class"),
                Column("secure", "Protected"),
                *(column for key, name in _TIMES.items() for column in _beside(key, name, 2)),
                Column("waste_without_pct", "Waste without, %", 1),
                Column("waste_pct", "Waste, %", 1),
                *SOURCE_COLUMNS,
            ),
            tuple(row for cell, of in cells for row in _class_rows(cell, of)),
        )
        yield Table(
            "energy_of_protection",
            "What protection costs in energy",
            f"{_SAID} Energy of the cluster, idle and active.",
            (
                *POLICY_COLUMNS,
                Column("enclaves", "Enclaves"),
                *_beside("total_energy_j", "Energy, J", 0),
                *_beside("active_energy_j", "Active energy, J", 0),
                *_beside("makespan_s", "Makespan, s", 0),
                *SOURCE_COLUMNS,
            ),
            tuple(_cell_row(cell, of) for cell, of in cells),
        )

    def key_figures(self) -> Iterator[tuple[str, KeyFigure]]:
        """Yield the cost of protection for the first policy's secure classes."""
        for setting in self.schedules.settings:
            cell = setting.cells[0]
            protection = cell.summary.protection
            if protection is None:
                continue
            for row in _class_rows(cell, protection):
                if not row["secure"]:
                    continue
                before, after, *ends = (
                    numbers(row).get(key)
                    for key in (
                        _without("response_mean_s"),
                        "response_mean_s",
                        *spread_keys("response_mean_s"),
                    )
                )
                low, high = (relative_pct(before, end) for end in ends)
                yield (
                    setting.label,
                    difference(
                        f"Price of protection (modelled), mean response of {row['job_class']}: "
                        f"{cell.label}",
                        relative_pct(before, after) if cell.is_stable else None,
                        None if low is None or high is None else (low, high),
                        f"{shown(before, 2)} → {shown(after, 2)} s, against no protection",
                    ),
                )

    def caveats(self) -> Iterator[tuple[str, str]]:
        """Yield that nothing ran in an enclave."""
        for setting in self.schedules.settings:
            if any(cell.summary.protection for cell in setting.cells):
                yield (
                    setting.label,
                    "the cost of enclaves is modelled from published figures: no enclave ran, "
                    "and jobs on a node are assumed to share no page cache.",
                )


def _beside(key: str, heading: str, decimals: int) -> tuple[Column, Column, Column]:
    return (
        Column(_without(key), f"{heading}, without", decimals),
        Column(key, heading, decimals, spread_keys(key)),
        Column(difference_key(key), "Price, %", 1),
    )


def _without(key: str) -> str:
    stem, unit = key.rsplit("_", 1)
    return f"{stem}_without_{unit}"


def _compared(cell: Cell, key: str, without: Any, typical: Any, low: Any, high: Any) -> Row:
    """Return the cells of a figure; some may be missing, as the price in an unstable cell."""
    return {
        _without(key): without,
        key: typical,
        **dict(zip(spread_keys(key), (low, high), strict=True)),
        difference_key(key): relative_pct(without, typical) if cell.is_stable else None,
    }


def _class_rows(cell: Cell, protection: Protection) -> Iterator[Row]:
    ends = [getattr(protection, end).classes for end in ("without", "low", "high")]
    for name, figures in cell.classes.items():
        without, low, high = (end.get(name) for end in ends)
        row = {**cell_row(cell), "job_class": name, "secure": name in protection.secure}
        for key in _TIMES:
            values = (getattr(of, key, None) for of in (without, figures, low, high))
            row |= _compared(cell, key, *values)
        row["waste_without_pct"] = percent(without.waste_share if without else None)
        row["waste_pct"] = percent(figures.waste_share)
        yield row | {"source": MODELLED}


def _cell_row(cell: Cell, protection: Protection) -> Row:
    found = [protection.without.all, cell.summary.all, protection.low.all, protection.high.all]
    names = (f"{kind}: {enclave}" for kind, enclave in protection.enclaves.items())
    return {
        **cell_row(cell),
        "enclaves": ", ".join(names),
        **_compared(cell, "total_energy_j", *map(_total_j, found)),
        **_compared(cell, "active_energy_j", *(figures.active_energy_j for figures in found)),
        **_compared(cell, "makespan_s", *(figures.makespan_s for figures in found)),
        "source": MODELLED,
    }


def _total_j(figures: TotalFigures) -> float | None:
    idle, active = figures.idle_energy_j, figures.active_energy_j
    return None if idle is None or active is None else idle + active


def _values(setting: CellGroup) -> list[dict[str, Any]]:
    """Return policy, class and difference in mean response of each cell with secure classes."""
    found = []
    for cell in setting.cells:
        protection = cell.summary.protection
        for row in _class_rows(cell, protection) if protection else ():
            difference = row["response_mean_difference_pct"]
            if difference is not None:
                secure = "protected" if row["secure"] else "not protected"
                values = {"policy": cell.label, "job_class": row["job_class"], "secure": secure}
                found.append({**values, "difference_pct": difference})
    return found


def _panel(setting: CellGroup, values: list[dict[str, Any]]) -> Any:
    classes, policies = setting.classes, [cell.label for cell in setting.cells]
    base = alt.Chart(data(values)).encode(
        x=alt.X("policy:N", sort=policies, title=None, axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("job_class:N", sort=classes, scale=alt.Scale(domain=classes)),
        y=alt.Y("difference_pct:Q", title="Difference, %"),
        color=class_colour(classes),
        tooltip=hover("policy", "job_class", "secure", difference_pct="+.1f"),
    )
    return alt.layer(base.mark_bar(), zero_line("y")).properties(
        width=max(240, 120 * len(policies)), height=200, title=setting.label
    )
