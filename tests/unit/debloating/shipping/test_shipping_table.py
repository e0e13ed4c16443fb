"""The tables of shipped images: what a lazy pull needs, beside the whole slim image."""

from pathlib import Path
from typing import Any

import common
import pytest
import shipping_table


def rounds(size_bytes: int, *seconds: float) -> list[dict[str, float]]:
    return [{"pull_s": 0.5, "ready_s": each, "ready_bytes": size_bytes} for each in seconds]


CASE: dict[str, Any] = {
    "machine": "a machine",
    "date": "2026-01-02",
    "original_bytes": 100_000_000,
    "slim_bytes": 9_900_000,
    "added_bytes": 11_900_000,
    "traced": "equal",
    "held_out": "equal",
    "traced_alone": "equal",
    "held_out_alone": "ended with exit code 1",
    "misses": 1,
    "needed": {"chunk_bytes": 20_000_000, "chunk_compressed_bytes": 10_000_000},
    "until_ready": {
        "original": rounds(100_000_000, 3, 5, 2.5),
        "original_lazily": rounds(10_500_000, 1, 1, 1.25),
        "slim": rounds(9_900_000, 0.75, 0.5, 1),
    },
}


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "RESULTS", tmp_path)


def rows(made: list[str]) -> list[list[str]]:
    """The cells of a table, whose rows have to have its head's columns."""
    cells = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in made]
    assert {len(row) for row in cells} == {len(cells[0])}
    return cells[2:]


def lazy_rows(**cases: dict[str, Any]) -> list[list[str]]:
    common.save("shipping", {"cases": cases})
    return rows(shipping_table.lazy_lines())


def test_each_figure_is_the_median_with_its_ends() -> None:
    [row] = lazy_rows(one=CASE)
    assert row == [
        "one", "10.0", "10.5", "10.5 %", "9.9",
        "3.00 (2.50 to 5.00)", "1.00 (1.00 to 1.25)", "0.75 (0.50 to 1.00)", "met",
    ]  # fmt: skip


@pytest.mark.parametrize("size_bytes", [10_500_000, 10_500_001])
def test_as_many_bytes_as_were_fetched_lazily_are_too_many(size_bytes: int) -> None:
    until_ready = {**CASE["until_ready"], "slim": rounds(size_bytes, 1)}
    [row] = lazy_rows(one={**CASE, "until_ready": until_ready})
    assert row[-1] == "**missed**"


def test_failed_cases_are_named_in_the_first_table_only() -> None:
    failed = {"machine": "a machine", "date": "2026-01-02", "error": "exit code 1: why"}
    older = {key: value for key, value in CASE.items() if key != "until_ready"}
    assert lazy_rows(failed=failed, older=older) == []
    first = rows(shipping_table.lines())
    assert [row[0] for row in first] == ["failed", "older"]
    assert first[0][-1] == "failed: exit code 1: why" and first[1][-1] == "met"
