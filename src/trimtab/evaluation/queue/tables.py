"""The tables of a queue's report."""

from collections.abc import Iterator

from trimtab.evaluation.queue.results import QueueResults
from trimtab.evaluation.report.figures import in_order
from trimtab.evaluation.report.tables import UNKNOWN, Column, Row, Table, Value
from trimtab.records.batch.comparison import PolicyOutcome, WaitFigures, format_duration


class Duration(Column):
    """A column of seconds, shown in the unit that suits each."""

    def shown(self, row: Row) -> str:
        """Return the time with its unit, a dash if unknown."""
        value = row.get(self.key)
        return format_duration(value) if isinstance(value, (int, float)) else UNKNOWN


_WHO = Column("policy", "Policy")
_WAITS = (
    Column("jobs", "Jobs", 0),
    Duration("mean_wait_s", "Mean wait", 0),
    Duration("median_wait_s", "Median wait", 0),
    Duration("p95_wait_s", "95 % wait", 0),
    Duration("longest_wait_s", "Longest wait", 0),
    Duration("mean_response_s", "Mean response", 0),
    Duration("p95_response_s", "95 % response", 0),
    Column("mean_bounded_slowdown", "Mean bounded slowdown", 2),
)
_OTHERS = (
    Column("user_fairness", "Fairness of users", 3),
    Duration("makespan_s", "Makespan", 0),
    Column("cpu_pct", "Cores, %", 1),
    Column("gpu_pct", "GPUs, %", 1),
    Column("energy_kwh", "Energy, kWh", 1),
    Column("cost_eur", "Cost, EUR", 2),
    Column("carbon_kg", "CO2e, kg", 2),
    Column("peak_power_kw", "Peak power, kW", 2),
    Column("late_pct", "Late, %", 1),
    Duration("mean_tardiness_s", "Mean tardiness", 0),
    Duration("startup_s", "Start-ups, all jobs", 0),
    Column("cold_starts", "Cold starts", 0),
    Column("pulled_gb", "Images pulled, GB", 2),
    Column("node_hours", "Node hours", 1),
    Column("nodes_eur", "Nodes, EUR", 2),
    Column("interruptions", "Interruptions", 0),
    Column("lost_core_h", "Lost, core-h", 2),
    Column("lost_gpu_h", "Lost, GPU-h", 2),
    Column("checkpoint_h", "Checkpoints, job-h", 2),
    Column("restart_h", "Restarts, job-h", 2),
)


def tables_of(results: QueueResults) -> Iterator[Table]:
    """Yield the table of policies, and those by width of jobs and by queue."""
    rows = _rows(results)
    known = [column for column in _OTHERS if any(row.get(column.key) is not None for row in rows)]
    yield Table(
        "policies",
        "Policies",
        "Response is wait and run time. Bounded slowdown is response / run time, with run times of"
        " at least 10 s. Fairness is Jain's index over the users' mean bounded slowdowns. Times,"
        " energy and costs are from the first submission to the last end; energy includes idle"
        " nodes. Tardiness is how much later than its deadline a job ends, at least 0.",
        (_WHO, *_WAITS, *known),
        tuple(rows),
    )
    for key, heading in (("width", "Width"), ("queue", "Queue")):
        if found := tuple(_by(results, key)):
            yield Table(
                f"by_{key}",
                f"Waits by {key}",
                "Width is cores, or GPUs where a job has any." if key == "width" else "",
                (Column(key, heading), _WHO, *_WAITS),
                found,
            )


def _rows(results: QueueResults) -> list[Row]:
    outcomes = {each.policy: each for each in results.document.policies}
    rows: list[Row] = []
    for name, waits in results.waits.items():
        row = {"policy": name, **_values(waits.every), "user_fairness": waits.user_fairness}
        if outcome := outcomes.get(name):
            row |= {
                "makespan_s": outcome.makespan_s,
                "cpu_pct": 100 * outcome.cpu_share,
                "gpu_pct": None if outcome.gpu_share is None else 100 * outcome.gpu_share,
                "energy_kwh": outcome.energy_kwh,
                "cost_eur": outcome.cost_eur,
                "carbon_kg": outcome.carbon_kg,
                **_operated(outcome),
            }
            if found := outcome.interruptions:
                row |= {
                    "interruptions": found.count,
                    "lost_core_h": found.lost_core_h,
                    "lost_gpu_h": found.lost_gpu_h,
                    "checkpoint_h": found.checkpoint_h,
                    "restart_h": found.restart_h,
                }
        rows.append(row)
    return rows


def _operated(outcome: PolicyOutcome) -> Row:
    """Return what applies of power, deadlines, start-ups and rented nodes."""
    row: dict[str, Value] = {}
    if outcome.peak_power_w is not None:
        row["peak_power_kw"] = outcome.peak_power_w / 1000
    if late := outcome.deadlines:
        row["late_pct"] = 100 * late.late_share
        row["mean_tardiness_s"] = late.mean_tardiness_s
    if starts := outcome.startups:
        row["startup_s"], row["cold_starts"] = starts.startup_s, starts.cold_starts
        row["pulled_gb"] = None if starts.pulled_bytes is None else starts.pulled_bytes / 1e9
    if use := outcome.node_use:
        row["node_hours"], row["nodes_eur"] = use.hours, use.cost_eur
    return row


def _by(results: QueueResults, key: str) -> Iterator[Row]:
    """Yield a row for each group and policy, in the order of groups."""
    found = {name: getattr(waits, f"by_{key}") for name, waits in results.waits.items()}
    for group in in_order(each.name for groups in found.values() for each in groups):
        for name, groups in found.items():
            for each in groups:
                if each.name == group:
                    yield {key: group, "policy": name, **_values(each)}


def _values(figures: WaitFigures) -> dict[str, Value]:
    return {
        "jobs": figures.jobs,
        "mean_wait_s": figures.mean_wait_s,
        "median_wait_s": figures.median_wait_s,
        "p95_wait_s": figures.p95_wait_s,
        "longest_wait_s": figures.longest_wait_s,
        "mean_response_s": figures.mean_response_s,
        "p95_response_s": figures.p95_response_s,
        "mean_bounded_slowdown": figures.mean_bounded_slowdown,
    }
