"""The performance of a cluster's nodes, by probing tasks, and their load."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from trimtab.config.groups.hardware import Probe
from trimtab.evaluation.inputs.schedules import Cell, CellGroup
from trimtab.evaluation.report.figures import AFTER, Figure, data, hover, in_order, specification
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.schedules.section import (
    ScheduleSection,
    figure_of,
    format_sources,
    palette_colour,
)

_SAMPLES = 300
_NUMBERS = ("cores:Q", "work:Q", "value:Q")
_RANKS = (0, 25, 50, 75, 100)
_PARTS = {"cpu": "CPU", "memory": "memory"}


class ClusterLoad(ScheduleSection):
    """Cores and memory in use, if the load was sampled."""

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
    """Return time_s, part and p0 to p100 of at most _SAMPLES evenly chosen samples."""
    step = -(-len(cell.load) // _SAMPLES)
    samples = cell.load.iloc[::step]
    values: list[dict[str, Any]] = []
    for part, name in _PARTS.items():
        shares = samples[[f"{part}_p{rank}" for rank in _RANKS]].round(4)
        is_as_before = shares.eq(shares.shift()).all(axis=1)
        needed = ~(is_as_before & is_as_before.shift(-1, fill_value=False))
        shown = shares[needed].set_axis([f"p{rank}" for rank in _RANKS], axis=1)
        shown.insert(0, "time_s", samples["time_s"].round(2))
        rows: Any = shown.to_dict("records")
        values += [{"policy": cell.label, "part": name} | row for row in rows]
    return values


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


class Probing(ScheduleSection):
    """Run time and energy of the probing tasks, if nodes were probed."""

    order = 820

    def make_figures(self) -> Iterator[Figure]:
        """Lines over the number of cores."""
        if self.schedules.probes:
            yield _probing(self.schedules.probes)


def most_work(probes: Mapping[str, Sequence[Probe]]) -> list[tuple[str, Probe]]:
    """Return, for each task, the probes with the most work common to all types of nodes.

    `probes` are by type of node; each returned probe comes with its type.
    """
    pairs = [(node_type, probe) for node_type, of_type in probes.items() for probe in of_type]
    by_type: dict[str, dict[str, set[float]]] = {}
    for node_type, probe in pairs:
        by_type.setdefault(probe.task, {}).setdefault(node_type, set()).add(probe.work)
    most = {
        task: max(set.intersection(*works.values()), default=None)
        for task, works in by_type.items()
    }
    return [(kind, probe) for kind, probe in pairs if most[probe.task] in (probe.work, None)]


def _probing(probes: Mapping[str, Sequence[Probe]]) -> Figure:
    shown = most_work(probes)
    node_types = in_order(node_type for node_type, _ in shown)
    values = [
        {"node_type": node_type, "task": p.task, "level": f"level {p.level}", "cores": p.cores}
        | {"work": p.work, "quantity": quantity, "value": value, "source": p.energy_source}
        for node_type, p in shown
        for quantity, value in (("Run time, s", p.wall_s), ("Energy, J", p.energy_j))
    ]
    chart = (
        alt.Chart(data(values))
        .mark_line(point=True)
        .encode(
            x=alt.X("cores:Q", title="Cores", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=True)),
            color=palette_colour("node_type", node_types, "Type of node"),
            strokeDash=alt.StrokeDash(
                "level:N",
                sort=in_order(f"level {probe.level}" for _, probe in shown),
                legend=alt.Legend(title="Frequency level", orient="top"),
            ),
            tooltip=[*hover("node_type", "task", "level"), *_NUMBERS, "source:N"],
        )
        .properties(width=330, height=180)
        .facet(
            row=alt.Row("task:N", sort=in_order(probe.task for _, probe in shown), title=None),
            column=alt.Column("quantity:N", sort=["Run time, s", "Energy, J"], title=None),
        )
        .resolve_scale(y="independent")
    )
    sources = format_sources(probe.energy_source for _, probe in shown)
    return Figure(
        "probing",
        titled("Run time and energy of the probing tasks", "probing"),
        "The most work of each task that every type of node did. The energy is the task's own, "
        f"without the idle power. Energy is {sources}, as a point's tooltip says; times are "
        "measured.",
        specification(chart),
    )
