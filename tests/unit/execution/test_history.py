"""Tables of jobs from allocations, against tables written by hand."""

import pandas as pd
import pytest

from trimtab.errors import TrimtabError
from trimtab.execution.history import Allocation, allocations_table, jobs_table
from trimtab.records.tables import ALLOCATIONS, SCHEDULED

TRACE = pd.DataFrame(
    {"job": [0, 1], "job_class": ["a", "b"], "priority": [0, 1], "arrival_s": [1.0, 4.0]}
)
ONE = Allocation(1, 0, 0, 1000, 4.0, 4.5, 6.0, "finished")
# Job 0 runs 2 s, is evicted, runs 1 s, moves (0.5 s set-up), changes level, and finishes.
LONG = [
    Allocation(0, 0, 0, 1000, 2.0, 2.0, 3.0, "level"),
    Allocation(0, 0, 1, 1000, 3.0, 3.0, 4.0, "evicted"),
    ONE,
    Allocation(0, 0, 0, 1000, 6.0, 6.0, 7.0, "migrated"),
    Allocation(0, 2, 0, 1000, 7.0, 7.5, 9.0, "level"),
    Allocation(0, 2, 1, 1000, 9.0, 9.0, 12.0, "finished"),
]


def test_by_hand() -> None:
    table = jobs_table(TRACE, LONG, sprint_level=1, energy_j={0: 5.0})
    assert table.columns.tolist() == SCHEDULED.names
    assert table["job"].tolist() == [1, 0]
    row = table.iloc[1]
    assert row.to_dict() == {
        "job": 0,
        "job_class": "a",
        "priority": 0,
        "arrival_s": 1.0,
        "start_s": 2.0,
        "finish_s": 12.0,
        "response_s": 11.0,
        "execution_s": 6.0,
        "wasted_s": 2.0,
        "set_up_s": 0.5,
        "sprint_s": 4.0,
        "dropped_tasks": 0,
        "evictions": 1,
        "migrations": 1,
        "node": 2,
        "level": 1,
        "energy_j": 5.0,
    }
    assert table["energy_j"].isna().tolist() == [True, False]


def test_one_that_resumes_wastes_nothing() -> None:
    row = jobs_table(TRACE, LONG, resumes=True).iloc[1]
    assert (row["wasted_s"], row["execution_s"], row["evictions"]) == (0.0, 8.0, 1)
    assert row["sprint_s"] == 0.0  # levels are frequencies, not sprints, unless said


@pytest.mark.parametrize("allocations", [[ONE], [ONE, LONG[0]], [ONE, LONG[1]]])
def test_a_lost_job_is_an_error(allocations: list[Allocation]) -> None:
    with pytest.raises(TrimtabError, match="job 0"):
        jobs_table(TRACE, allocations)


def test_allocations() -> None:
    table = allocations_table(LONG)
    assert table.columns.tolist() == ALLOCATIONS.names
    assert table["end_s"].tolist() == [3.0, 4.0, 6.0, 7.0, 9.0, 12.0]
    assert allocations_table([]).columns.tolist() == ALLOCATIONS.names
