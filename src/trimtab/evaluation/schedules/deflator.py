"""The deflator's search: every candidate, the Pareto set and the choice."""

from collections.abc import Iterator
from dataclasses import replace

from trimtab.evaluation.inputs.schedules import relative_pct
from trimtab.evaluation.report.tables import (
    HARDWARE_COLUMN,
    MODELLED,
    Column,
    Row,
    Table,
    Value,
    is_published,
)
from trimtab.evaluation.schedules.by_class import percent, picked
from trimtab.evaluation.schedules.section import ScheduleSection
from trimtab.records.deflator_search import DeflatorSearch

_OBJECTIVE_COLUMNS = (
    Column("name", "Objective"),
    Column("trace", "Trace"),
    Column("cluster", "Cluster", in_report=False),
    HARDWARE_COLUMN,
)
_BY_CLASS = ("timeout_s", "response_mean_s", "response_p95_s", "accuracy_loss_pct")
_CONFIRMED = {"response_mean_s": "confirmed_mean", "response_p95_s": "confirmed_p95"}


class DeflatorCandidates(ScheduleSection):
    """The candidates of each search, and the simulation of the chosen one."""

    order = 790

    def make_tables(self) -> Iterator[Table]:
        """A row for each class of each candidate."""
        yield self.compared(
            "deflator",
            "What the deflator found",
            "Drop ratios and sprint timeouts as the model predicts them, one line for each class "
            "of a candidate; the page shows the Pareto set and the choice, the CSV every "
            "candidate. Feasible: within every limit. Confirmed: the chosen candidate as it was "
            "then simulated, and how far the model is from that.",
            (
                Column("candidate", "Candidate", 0),
                Column("job_class", "Class"),
                Column("drop_ratio_pct", "Drop ratio, %", 0),
                Column("timeout_s", "Sprint after, s", 1),
                Column("response_mean_s", "Mean response, s", 2),
                Column("response_p95_s", "95th percentile, s", 2),
                Column("accuracy_loss_pct", "Accuracy loss, %", 1),
                Column("energy_j_per_job", "Energy a job, J", 0),
                Column("feasible", "Feasible"),
                Column("pareto", "Pareto"),
                Column("chosen", "Chosen"),
                Column("confirmed_mean_s", "Confirmed mean, s", 2),
                Column("confirmed_mean_error_pct", "Model off by, %", 1),
                Column("confirmed_p95_s", "Confirmed 95th, s", 2),
                Column("confirmed_p95_error_pct", "Model off by, %", 1),
                Column("details", "Details"),
            ),
            [row for deflator in self.schedules.deflators for row in _rows(deflator)],
            who=_OBJECTIVE_COLUMNS,
        )

    def page(self) -> Iterator[Table]:
        """Yield the Pareto set, the choice and the published values, if any."""
        (table,) = self.tables
        rows = [row for row in table.rows if is_published(row) or row["pareto"] or row["chosen"]]
        if table.rows:
            yield replace(table, rows=tuple(rows))


def _rows(deflator: DeflatorSearch) -> Iterator[Row]:
    for number, candidate in enumerate(deflator.rows):
        confirmed = deflator.confirmed if candidate.chosen else None
        for name in deflator.classes:
            row: dict[str, Value] = {
                "name": deflator.objective,
                "trace": deflator.trace,
                "cluster": deflator.cluster,
                "hardware": deflator.cluster,
                "candidate": number,
                "job_class": name,
                "drop_ratio_pct": percent(candidate.drop_ratio[name]),
                **picked(candidate, "energy_j_per_job", "feasible", "pareto", "chosen"),
                "source": MODELLED,
            }
            predicted = {key: getattr(candidate, key)[name] for key in _BY_CLASS}
            row |= predicted
            for key, stem in _CONFIRMED.items() if confirmed else ():
                simulated_s = getattr(confirmed, key)[name]
                row[f"{stem}_s"] = simulated_s
                row[f"{stem}_error_pct"] = relative_pct(simulated_s, predicted[key])
            yield row
