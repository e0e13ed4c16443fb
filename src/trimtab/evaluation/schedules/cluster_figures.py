"""Figures 3.5 and 3.6 of Rocha's thesis: a cluster's load, energy and run time by policy."""

from typing import Any

import altair as alt

from trimtab.evaluation.inputs.schedules import Cell, CellGroup, Schedules
from trimtab.evaluation.report.figures import AFTER, BEFORE, GPU_COLOUR, Figure, data, specification
from trimtab.evaluation.report.published import published
from trimtab.evaluation.report.tables import shown
from trimtab.evaluation.schedules.charts import sources_in_words, stacked

_SAMPLES = 300
_PARTS = {"cpu": "CPU", "memory": "memory"}
_KINDS = {"idle_energy_j": "idle", "active_energy_j": "active"}


def cluster_figures(schedules: Schedules) -> list[Figure]:
    """Return Figures 3.5 and 3.6, as far as there are data."""
    figures = []
    load = [
        (setting, cells)
        for setting in schedules.settings
        if (cells := [cell for cell in setting.cells if not cell.load.empty])
    ]
    if load:
        figures.append(
            Figure(
                "figure_3_5",
                "CPU and memory in use over time (Figure 3.5)",
                "Percentiles over the nodes, a row for each policy: the line is the median, the "
                "dark band from the 25th to the 75th, the light one from the least to the most "
                f"loaded node. Simulated; at most {_SAMPLES} evenly chosen samples are drawn.",
                specification(stacked(_load_panel(*panel) for panel in load)),
            )
        )
    energy = [
        setting
        for setting in schedules.settings
        if any(cell.total_energy_j is not None for cell in setting.cells)
    ]
    if energy:
        sources = sources_in_words(cell.summary.energy_source for s in energy for cell in s.cells)
        figures.append(
            Figure(
                "figure_3_6",
                "Energy and run time by policy (Figure 3.6)",
                "The whole cluster until its last job finished: idle energy and what running jobs "
                "draw on top, and how long that took. The run time is simulated, the energy "
                f"{sources}. Published, against the default scheduler of Kubernetes: "
                f"{_published_energy()}.",
                specification(stacked(_energy_panel(setting) for setting in energy)),
            )
        )
    return figures


def _published_energy() -> str:
    """Return what the text of section 3.4.5 says of each row, with its number where it has one."""
    said = []
    for entry in published("cluster_energy"):
        if entry.row.startswith("Figure 3.6, "):
            difference = entry.values.get("total_energy_difference_pct")
            words = [] if difference is None else [f"energy {shown(difference, 1)} %"]
            words.append(str(entry.values["details"]))
            said.append(f"{entry.row.removeprefix('Figure 3.6, ')}: {', '.join(words)}")
    return "; ".join(said)


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


def _energy_panel(setting: CellGroup) -> Any:
    policies = [cell.label for cell in setting.cells]
    y = alt.Y("policy:N", sort=policies, title=None, axis=alt.Axis(labelLimit=260))
    energy = (
        alt.Chart(
            data(
                [
                    {
                        "policy": cell.label,
                        "kind": kind,
                        "order": order,
                        "energy_kj": (getattr(cell.totals, key) or 0.0) / 1e3,
                    }
                    for cell in setting.cells
                    for order, (key, kind) in enumerate(_KINDS.items())
                ]
            )
        )
        .mark_bar(height=16)
        .encode(
            y=y,
            x=alt.X("energy_kj:Q", title="Energy, kJ"),
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(_KINDS.values()), range=[BEFORE, AFTER]),
                legend=alt.Legend(title=None, orient="top"),
            ),
            order="order:Q",
            tooltip=["policy:N", "kind:N", alt.Tooltip("energy_kj:Q", format=",.1f")],
        )
        .properties(width=330, height=alt.Step(24))
    )
    time = (
        alt.Chart(
            data([{"policy": c.label, "makespan_s": c.totals.makespan_s} for c in setting.cells])
        )
        .mark_bar(height=16, color=GPU_COLOUR)
        .encode(
            y=alt.Y("policy:N", sort=policies, title=None, axis=None),
            x=alt.X("makespan_s:Q", title="Run time, s"),
            tooltip=["policy:N", alt.Tooltip("makespan_s:Q", format=",.1f")],
        )
        .properties(width=330, height=alt.Step(24))
    )
    return alt.hconcat(energy, time, title=alt.TitleParams(setting.label))
