"""What is recorded of saved starts: times of a snapshot, or a reason where there is none."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trimtab.errors import TrimtabError
from trimtab.files import read_json, write_json
from trimtab.records.imports.saved_starts import SavedStarts, WorkloadStart

SAVED = WorkloadStart("a", 45_000_000, 0.3, 0.1, [(0.3, 0.1), (0.4, 0.1)], "it reads a clock")
USUAL = WorkloadStart("b", 0, None, None, [], "it saves too little")
STARTS = SavedStarts(target="t", hardware="h", workloads=[SAVED, USUAL])


def test_round_trip(tmp_path: Path) -> None:
    STARTS.write(tmp_path / "start.json")
    assert SavedStarts.read(tmp_path / "start.json") == STARTS


def test_what_is_saved_is_the_median_of_pairs_that_agree() -> None:
    pairs_s = [(3.0, 1.0), (9.0, 1.0), (4.0, 1.0)]
    found = replace(SAVED, pairs_s=pairs_s)
    assert (found.saved_s, found.saved_share) == (3, 3 / 4)
    for start in (replace(SAVED, pairs_s=[*pairs_s, (1.0, 1.0)]), USUAL):
        assert start.saved_s == start.saved_share == 0


def test_documents_from_before_the_cost_was_known_are_read(tmp_path: Path) -> None:
    STARTS.write(tmp_path / "start.json")
    document = read_json(tmp_path / "start.json")
    for start in document["workloads"]:
        del start["making_s"]
    write_json(tmp_path / "start.json", document)
    assert SavedStarts.read(tmp_path / "start.json") == STARTS


@pytest.mark.parametrize(
    "change",
    [{"size_bytes": 0}, {"before_s": None}, {"after_s": None}, {"pairs_s": []}],
)
def test_times_and_bytes_belong_together(tmp_path: Path, change: dict[str, Any]) -> None:
    document = STARTS.to_json() | {"workloads": [vars(replace(SAVED, **change))]}
    write_json(tmp_path / "start.json", document)
    with pytest.raises(TrimtabError, match="workloads: a: expected times of a snapshot only"):
        SavedStarts.read(tmp_path / "start.json")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pairs_s": [[0.3]]}, r"pairs_s\[0\]"),
        ({"pairs_s": [[0.3, -0.1]]}, r"pairs_s\[0\]\[1\]"),
        ({"reason": None}, "reason"),
    ],
)
def test_damage_is_named(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    document = STARTS.to_json()
    document["workloads"][0] |= change
    write_json(tmp_path / "start.json", document)
    with pytest.raises(TrimtabError, match=rf"start.json: workloads\[0\]\.{said}.*debloat"):
        SavedStarts.read(tmp_path / "start.json")
