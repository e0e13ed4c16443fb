"""A cluster's load over time, by policy."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.schedules import Cell, CellGroup
from trimtab.evaluation.report.figures import AFTER, Figure, data
from trimtab.evaluation.schedules.charts import figure_of
from trimtab.evaluation.schedules.section import ScheduleSection

_SAMPLES = 300
_PARTS = {"cpu": "CPU", "memory": "memory"}


class Load(ScheduleSection):
    """Cores and memory in use, where the load was sampled."""

    order = 810

    def make_figures(self) -> Iterator[Figure]:
        """Percentiles over the nodes, a row for each policy."""
        return figure_of(
            "load",
            "CPU and memory in use over time",
            "Percentiles over the nodes, a row for each policy: the line is the median, the "
            "dark band from the 25th to the 75th, the light one from the least to the most "
            f"loaded node. Simulated; at most {_SAMPLES} evenly chosen samples are drawn.",
            (
                _load_panel(setting, cells)
                for setting in self.charted.settings
                if (cells := [cell for cell in setting.cells if not cell.load.empty])
            ),
        )


def load_values(cell: Cell) -> list[dict[str, Any]]:
    """Return time_s, part and p0 to p100 of at most _SAMPLES samples, evenly chosen."""
    step = -(-len(cell.load) // _SAMPLES)
    return [
        {
            "policy": cell.label,
            "part": name,
            "time_s": sample["time_s"],
            **{f"p{rank}": sample[f"{part}_p{rank}"] for rank in (0, 25, 50, 75, 100)},
        }
        for sample in cell.load.iloc[::step].to_dict("records")
        for part, name in _PARTS.items()
    ]


def _load_panel(setting: CellGroup, cells: list[Cell]) -> Any:
    base = alt.Chart().encode(x=alt.X("time_s:Q", title="Time, s"))
    share = alt.Y("p0:Q", title=None, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    chart = alt.layer(
        base.mark_area(color=AFTER, opacity=0.22).encode(y=share, y2="p100:Q"),
        base.mark_area(color=AFTER, opacity=0.4).encode(y="p25:Q", y2="p75:Q"),
        base.mark_line(color="#134e4a", strokeWidth=1.4).encode(y="p50:Q"),
        data=data([value for cell in cells for value in load_values(cell)]),
    )
    return chart.properties(width=380, height=80).facet(
        row=alt.Row(
            "policy:N",
            sort=[cell.label for cell in cells],
            title=None,
            header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=180),
        ),
        column=alt.Column("part:N", sort=list(_PARTS.values()), title=None),
        spacing=10,
        title=alt.TitleParams(setting.label),
    )
