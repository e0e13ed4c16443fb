"""How the time of each class splits into queueing and execution."""

from collections.abc import Iterator

from trimtab.evaluation.inputs.schedules import outcomes
from trimtab.evaluation.report.published import titled
from trimtab.evaluation.report.tables import Column, Row, Table
from trimtab.evaluation.schedules.by_class import identity
from trimtab.evaluation.schedules.section import ScheduleSection


class Queueing(ScheduleSection):
    """Mean queueing and execution time of each class under each policy."""

    order = 750

    def make_tables(self) -> Iterator[Table]:
        """A row for each class of each cell, simulated and real."""
        rows: list[Row] = [
            identity(outcome)
            | {key: getattr(outcome.numbers, key) for key in ("waiting_mean_s", "execution_mean_s")}
            for setting in self.schedules.settings
            for outcome in outcomes(setting)
        ]
        yield self.compared(
            "queueing_by_policy",
            titled("Queueing and execution time by class and policy", "queueing_by_policy"),
            "Means over the jobs of a class. Execution: the one that finished, with its set-up. "
            "The published policies: sprinting without preemption, and with tasks dropped as well.",
            (
                Column("job_class", "Class"),
                Column("answered_by", "Answered by", in_report=False),
                Column("waiting_mean_s", "Queueing, s", 2),
                Column("execution_mean_s", "Execution, s", 2),
            ),
            rows,
        )

    def page(self) -> Iterator[Table]:
        """Yield the classes with the most jobs."""
        yield self.without_other_classes(self.tables[0])
