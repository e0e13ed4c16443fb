"""A cluster's energy and run time, by policy."""

from collections.abc import Iterator
from typing import Any

import altair as alt

from trimtab.evaluation.inputs.schedules import CellGroup
from trimtab.evaluation.report.figures import AFTER, BEFORE, GPU_COLOUR, Figure, data, specification
from trimtab.evaluation.report.published import published, titled
from trimtab.evaluation.report.tables import shown
from trimtab.evaluation.schedules.charts import sources_in_words, stacked
from trimtab.evaluation.schedules.section import ScheduleSection

_KINDS = {"idle_energy_j": "idle", "active_energy_j": "active"}


class EnergyAndRunTime(ScheduleSection):
    """The whole cluster until its last job finished, where its energy is known."""

    order = 720

    def make_figures(self) -> Iterator[Figure]:
        """Idle and active energy beside the run time."""
        settings = [
            setting
            for setting in self.charted.settings
            if any(cell.total_energy_j is not None for cell in setting.cells)
        ]
        if not settings:
            return
        sources = sources_in_words(cell.summary.energy_source for s in settings for cell in s.cells)
        name = "energy_and_run_time"
        yield Figure(
            name,
            titled("Energy and run time by policy", name),
            "The whole cluster until its last job finished: idle energy and what running jobs "
            "draw on top, and how long that took. The run time is simulated, the energy "
            f"{sources}. Published, against the default scheduler of Kubernetes: "
            f"{_published_energy()}.",
            specification(stacked(_energy_panel(setting) for setting in settings)),
        )


def _published_energy() -> str:
    """Return what is printed of HEATS, with its number where it has one."""
    said = []
    for row in published("cluster_energy"):
        if row.bears_on == "node_types":
            difference = row.values.get("total_energy_difference_pct")
            words = [] if difference is None else [f"energy {shown(difference, 1)} %"]
            words.append(str(row.values["details"]))
            said.append(f"{row.row.rpartition(', ')[2]}: {', '.join(words)}")
    return "; ".join(said)


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
