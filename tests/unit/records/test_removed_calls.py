"""The fallback's record: each function once, in the order of the first call."""

from pathlib import Path

import pytest

from trimtab.errors import UserError
from trimtab.records.misses.removed_calls import RemovedCall, read_removed_calls

CALL = '{"pid": 1, "time_s": 1.5, "library": "lib/x.so", "address": 16, "function": "f"}\n'
COUNT = '{"pid": 9, "time_s": 2.125, "functions": 3}\n'


def test_without_a_record_nothing_was_called(tmp_path: Path) -> None:
    assert read_removed_calls(tmp_path / "events.jsonl") == []


def test_calls_are_counted_by_process_and_a_line_cut_short_is_none(tmp_path: Path) -> None:
    record = tmp_path / "events.jsonl"
    other = CALL.replace('"f"', '"g"')
    record.write_text(CALL + other + CALL + CALL.replace(": 1,", ": 2,") + COUNT + other[:20])
    assert read_removed_calls(record) == [
        RemovedCall("lib/x.so", 16, "f", 2),
        RemovedCall("lib/x.so", 16, "g", 1),
    ]


@pytest.mark.parametrize(
    "line",
    ["[]", "7", "{}", "nonsense", "\xff", CALL.replace("16", "[]").strip(),
     COUNT.replace("3", '"3"').strip(), CALL.replace("pid", "PID").strip()],
)  # fmt: skip
def test_a_foreign_record_is_refused(tmp_path: Path, line: str) -> None:
    record = tmp_path / "events.jsonl"
    record.write_bytes(f"{CALL}{line}\n".encode("latin-1"))
    with pytest.raises(UserError, match="line 2 is no record"):
        read_removed_calls(record)
