"""From the files of the other stages to tables, figures, metrics and the report."""

from pathlib import Path
from typing import Any

from trimtab.evaluation.inputs.measurements import Inputs, Measurements
from trimtab.evaluation.inputs.read import load
from trimtab.evaluation.libraries.gpu_figures import figure_1, figure_7
from trimtab.evaluation.libraries.gpu_tables import table_6, table_7, table_10
from trimtab.evaluation.libraries.pareto import figure_6
from trimtab.evaluation.libraries.similarity import published_similarity, table_4, table_9
from trimtab.evaluation.libraries.tables import library_table, size_table, table_2, table_3
from trimtab.evaluation.libraries.violins import figure_5
from trimtab.evaluation.report.figures import Figure
from trimtab.evaluation.report.metrics import metrics
from trimtab.evaluation.report.page import render
from trimtab.evaluation.report.tables import Table
from trimtab.evaluation.runs.figures import run_time_figure, size_figure
from trimtab.evaluation.runs.tables import epoch_table, table_5, table_8
from trimtab.evaluation.runs.tracing import tracing_table
from trimtab.evaluation.runs.verification import verification_table, verified
from trimtab.evaluation.schedules.section import (
    schedule_figures,
    schedule_metrics,
    schedule_tables,
)
from trimtab.files import whole_file, write_json

TABLES = (
    "verification",
    "table_2",
    "table_3",
    "sizes",
    "table_5",
    "table_6",
    "table_7",
    "table_10",
    "table_4",
    "table_4_published",
    "table_9",
    "table_9_published",
    "table_8",
    "tracing",
    "epochs",
    "libraries",
)
FIGURES = ("sizes", "run_times", "figure_5a", "figure_5b", "figure_6")
GPU_FIGURES = ("figure_1", "figure_7")


def evaluate(inputs: Inputs, destination: Path) -> Path:
    """Write the evaluation of an experiment to `destination` and return its `report.html`.

    With debloated targets there are `tables/{TABLES}.csv`, `figures/{FIGURES}.svg` and, where any
    library holds GPU code, `figures/{GPU_FIGURES}.svg`; with schedules
    `tables/{SCHEDULE_TABLES}.csv` and the figures whose data exist. Then come `metrics.json` and,
    last, the report. A verification that failed is reported, not raised. Raises UserError and
    TrimtabError as inputs.load does, before anything is written.
    """
    measurements = load(inputs)
    tables: list[Table] = []
    figures: list[Figure] = []
    numbers: dict[str, Any] = {}
    if measurements.targets:
        tables += _target_tables(measurements)
        by_name = {table.name: table for table in tables}
        figures += _target_figures(measurements, by_name["sizes"])
        by_target = by_name["table_2"], by_name["table_8"]
        numbers |= metrics(verified(measurements), by_target, by_name["table_5"])
    if measurements.schedules.cells:
        of_schedules = schedule_tables(measurements.schedules)
        tables += of_schedules
        figures += schedule_figures(measurements.schedules)
        numbers["schedule"] = schedule_metrics(of_schedules)
    page = render(measurements, tables, figures)
    for table in tables:
        table.write_csv(destination / "tables")
    for figure in figures:
        figure.write_svg(destination / "figures")
    write_json(destination / "metrics.json", numbers)
    report = destination / "report.html"
    with whole_file(report) as temporary:
        temporary.write_text(page)
    return report


def _target_tables(measurements: Measurements) -> list[Table]:
    return [
        verification_table(measurements),
        table_2(measurements),
        table_3(measurements),
        size_table(measurements),
        table_5(measurements),
        table_6(measurements),
        table_7(measurements),
        table_10(measurements),
        table_4(measurements),
        published_similarity("table_4"),
        table_9(measurements),
        published_similarity("table_9"),
        table_8(measurements),
        tracing_table(measurements),
        epoch_table(measurements),
        library_table(measurements),
    ]


def _target_figures(measurements: Measurements, sizes: Table) -> list[Figure]:
    figures = [
        size_figure(sizes),
        run_time_figure(measurements),
        *figure_5(measurements),
        figure_6(measurements),
    ]
    if measurements.have_gpu_code:
        figures += [figure_1(measurements), figure_7(measurements)]
    return figures
