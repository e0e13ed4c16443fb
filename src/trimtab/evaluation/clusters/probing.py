"""What each type of node can do, as probing tasks found it."""

from collections.abc import Iterator, Mapping, Sequence

import altair as alt

from trimtab.config.groups.hardware import Probe
from trimtab.evaluation.report.figures import Figure, data, in_order, specification
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.schedules.charts import palette_colour, sources_in_words
from trimtab.evaluation.schedules.section import ScheduleSection


class Probing(ScheduleSection):
    """Run time and energy of the probing tasks, where nodes were probed."""

    order = 820

    def make_figures(self) -> Iterator[Figure]:
        """Lines over the number of cores."""
        if self.schedules.probes:
            yield _probing(self.schedules.probes)


def most_work(probes: Mapping[str, Sequence[Probe]]) -> list[tuple[str, Probe]]:
    """Return, for each task, the probes with the most work, which every type of node did.

    `probes` are by type of node, and each of those returned comes with its type.
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
            tooltip=[
                *("node_type:N", "task:N", "level:N"),
                *("cores:Q", "work:Q", "value:Q", "source:N"),
            ],
        )
        .properties(width=330, height=180)
        .facet(
            row=alt.Row("task:N", sort=in_order(probe.task for _, probe in shown), title=None),
            column=alt.Column("quantity:N", sort=["Run time, s", "Energy, J"], title=None),
        )
        .resolve_scale(y="independent")
    )
    sources = sources_in_words(probe.energy_source for _, probe in shown)
    return Figure(
        "probing",
        titled("Run time and energy of the probing tasks", "probing"),
        "The most work of each task that every type of node did. The energy is the task's own, "
        f"without the idle power. Energy is {sources}, as a point's tooltip says; times are "
        "measured.",
        specification(chart),
    )
