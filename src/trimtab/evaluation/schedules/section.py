"""All tables, figures and metrics of schedules."""

from collections.abc import Sequence
from dataclasses import replace

from trimtab.evaluation.inputs.schedules import Schedules
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.tables import Table, is_published
from trimtab.evaluation.schedules.agreement import agreement_table
from trimtab.evaluation.schedules.cluster_energy import cluster_energy_table
from trimtab.evaluation.schedules.cluster_figures import cluster_figures
from trimtab.evaluation.schedules.deflator import deflator_table
from trimtab.evaluation.schedules.drop_figures import drop_figures
from trimtab.evaluation.schedules.gantt import gantt_figures
from trimtab.evaluation.schedules.latency_figures import latency_figures
from trimtab.evaluation.schedules.main_classes import MOST, SAID, with_shown_classes
from trimtab.evaluation.schedules.migration_figure import migration_figure
from trimtab.evaluation.schedules.tables import schedule_table, table_4_2
from trimtab.evaluation.schedules.trace_figures import trace_figures

_BY_CLASS = ("figure_4_6", "figure_3_4", "gantt")
SCHEDULE_TABLES = ("schedule", "table_4_2", "cluster_energy", "agreement", "deflator")


def schedule_tables(schedules: Schedules) -> tuple[Table, ...]:
    """Return the tables named SCHEDULE_TABLES."""
    return (
        schedule_table(schedules),
        table_4_2(schedules),
        cluster_energy_table(schedules),
        agreement_table(schedules),
        deflator_table(schedules),
    )


def schedule_figures(schedules: Schedules) -> list[Figure]:
    """Return every figure whose data exist, in the order of the report."""
    everything, schedules = schedules, with_shown_classes(schedules)
    migration = migration_figure(schedules)
    figures = [
        *latency_figures(schedules),
        *drop_figures(schedules),
        *cluster_figures(schedules),
        *trace_figures(schedules),
        *([migration] if migration else []),
        *gantt_figures(schedules),
    ]
    if all(len(one.classes) <= MOST for one in everything.settings):
        return figures
    return [
        replace(figure, caption=f"{figure.caption} {SAID}.")
        if figure.name.startswith(_BY_CLASS)
        else figure
        for figure in figures
    ]


def schedule_metrics(tables: Sequence[Table]) -> dict[str, float]:
    """Return our numbers by "cluster/trace/policy[/class[/quantity or engine]]/key", flat."""
    found: dict[str, float] = {}
    for table in tables:
        if table.name in ("schedule", "cluster_energy", "agreement"):
            for row in table.rows:
                if not is_published(row) and "policy" in row:
                    parts = [row["cluster"], row["trace"], row["policy"], row.get("job_class")]
                    parts.append(row.get("quantity") or row["source"])
                    prefix = "/".join(str(part) for part in parts if part)
                    for key, value in row.items():
                        if isinstance(value, (int, float)) and not isinstance(value, bool):
                            found[f"{prefix}/{key}"] = float(value)
    return found
