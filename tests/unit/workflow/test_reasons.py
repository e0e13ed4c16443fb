"""Reasons name what has changed, from what to what."""

import json
import logging

import pytest
from snakemake.logging import logger

from trimtab.workflow.rerun_reasons import changes_of, explain_reasons


def changes(before: object, now: object) -> str:
    return changes_of({json.dumps(before)}, {json.dumps(now)})


def test_a_key_is_named_with_its_values() -> None:
    assert (
        changes({"verify": {"repeats": 1}}, {"verify": {"repeats": 2}}) == "verify.repeats: 1 -> 2"
    )


def test_named_parts_of_a_list_go_by_their_names() -> None:
    before = {"workloads": [{"name": "one", "command": ["a"]}, {"name": "two", "command": ["b"]}]}
    now = {"workloads": [{"name": "one", "command": ["a"]}, {"name": "two", "command": ["c"]}]}
    assert changes(before, now) == 'workloads.two.command: ["b"] -> ["c"]'


def test_a_key_that_was_not_there_and_one_that_has_gone() -> None:
    assert changes({"a": 1, "b": {}}, {"b": {"c": None}}) == (
        "a: 1 -> (not there); b.c: (not there) -> null"
    )


def test_many_changes_and_long_values_stay_short() -> None:
    before = {f"key_{number}": 0 for number in range(9)}
    now = {f"key_{number}": "long" * 1000 for number in range(9)}
    said = changes(before, now)
    assert said.endswith("; and 5 more") and len(said) < 400


def test_what_is_no_json_is_told_as_it_is() -> None:
    assert changes_of({"'a'"}, {"'b'"}) == "parameter: \"'a'\" -> \"'b'\""


def test_of_the_sources_of_a_failed_job_only_the_number_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[logging.LogRecord] = []
    monkeypatch.setattr(logger, "filters", [])
    monkeypatch.setattr(
        logger, "handle", lambda record: logger.filter(record) and told.append(record)
    )
    explain_reasons(None, {"src/a.py", "src/b.py"})
    logger.error("Error in rule profile", extra={"input": ["src/a.py", "given.csv", "src/b.py"]})
    [record] = told
    assert record.__dict__["input"] == ["given.csv", "2 source files"]
