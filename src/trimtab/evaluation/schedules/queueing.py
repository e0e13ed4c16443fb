"""How the time of each class splits into queueing and execution."""

from collections.abc import Iterator
from functools import cached_property

from trimtab.evaluation.inputs.schedules import outcomes
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.tables import SOURCE_COLUMNS, Column, Row, Table
from trimtab.evaluation.schedules.by_class import POLICY_COLUMNS, identity
from trimtab.evaluation.schedules.main_classes import shown_classes, without_other_classes
from trimtab.evaluation.schedules.section import ScheduleSection


class Queueing(ScheduleSection):
    """Mean queueing and execution time of each class under each policy."""

    order = 750

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """A row for each class of each cell, simulated and real."""
        rows: list[Row] = [
            identity(outcome)
            | {key: outcome.numbers[key] for key in ("waiting_mean_s", "execution_mean_s")}
            for setting in self.schedules.settings
            for outcome in outcomes(setting)
        ]
        table = Table(
            "queueing_by_policy",
            titled("Queueing and execution time by class and policy", "queueing_by_policy"),
            "Means over the jobs of a class. Execution: the one that finished, with its set-up. "
            "The published policies: sprinting without preemption, and with tasks dropped as well.",
            (
                *POLICY_COLUMNS,
                Column("job_class", "Class"),
                Column("engine", "Engine", in_report=False),
                Column("waiting_mean_s", "Queueing, s", 2),
                Column("execution_mean_s", "Execution, s", 2),
                *SOURCE_COLUMNS,
            ),
            (*rows, *self.published_rows("queueing_by_policy")),
        )
        return (table,)

    def page(self) -> Iterator[Table]:
        """Yield the classes with the most jobs."""
        yield without_other_classes(self.tables[0], shown_classes(self.schedules))
