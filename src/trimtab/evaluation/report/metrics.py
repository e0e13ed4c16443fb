"""The numbers of an experiment that are compared from one version to the next."""

from typing import Any

from trimtab.evaluation.report.tables import MEASURED, Table


def metrics(verified: bool, by_target: tuple[Table, ...], by_workload: Table) -> dict[str, Any]:
    """Return our numbers, without the published ones, as `metrics.json` holds them.

    Under `targets` stand the numbers of the tables with a row for each target, under `workloads`
    those of the table with a row for each workload and target; unknown ones are left out. A name
    is `target` or `target/workload`. `verified` is 1 when every output was equal.
    """
    targets: dict[str, dict[str, float]] = {}
    for table in by_target:
        for row in table.rows:
            if row.get("source") == MEASURED:
                targets.setdefault(str(row["name"]), {}).update(_numbers(row))
    workloads = {
        f"{row['target']}/{row['name']}": _numbers(row)
        for row in by_workload.rows
        if row.get("source") == MEASURED
    }
    return {"verified": int(verified), "targets": targets, "workloads": workloads}


def _numbers(row: Any) -> dict[str, float]:
    return {
        key: value
        for key, value in row.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }
