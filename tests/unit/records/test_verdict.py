"""A verdict says one thing: passed, or what failed."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trimtab.errors import TrimtabError
from trimtab.files import write_json
from trimtab.records.misses.held_out import HeldOutInput, HeldOutRun
from trimtab.records.misses.removed_calls import RemovedCall
from trimtab.records.misses.settling import Risk
from trimtab.records.verdict import Crash, ResidentBytes, Verdict, VerifiedWorkload

RISK = Risk(8, 1, 0.125, 5, 0, 0.45)
EQUAL = VerifiedWorkload("w", 2, True, 2, "digest_file", 3, 3, 1, RISK)
PASSED = Verdict(
    target="t", hardware="h", passed=True, workloads=[EQUAL],
    resident_bytes={"w": ResidentBytes(5, 3)},
)  # fmt: skip
FAILED = Verdict(
    target="t", hardware="h", passed=False, workloads=[EQUAL], failed_workload="w", problem="p",
    removed_calls=[RemovedCall("lib/x.so", 16, "f", 2)], crash=Crash("SIGSEGV", "", 0, ""),
)  # fmt: skip
HELD = {"workload": "w", "name": "i", "command": ["x"], "runs": []}


@pytest.mark.parametrize("verdict", [PASSED, FAILED], ids=["passed", "failed"])
def test_round_trip(tmp_path: Path, verdict: Verdict) -> None:
    verdict.write(tmp_path / "verify.json")
    assert Verdict.read(tmp_path / "verify.json") == verdict


@pytest.mark.parametrize(
    ("verdict", "change", "said"),
    [
        (FAILED, {"passed": True}, "passed: expected"),
        (PASSED, {"passed": False}, "passed: expected"),
        (FAILED, {"problem": None}, "passed: expected"),
        (PASSED, {"workloads": [PASSED.to_json()["workloads"][0] | {"equal_runs": 3}]}, "more"),
        (PASSED, {"workloads": [PASSED.to_json()["workloads"][0] | {"clean_runs": 4}]}, "more"),
        (PASSED, {"workloads": [PASSED.to_json()["workloads"][0] | {"clean_runs": 2}]}, "clean"),
        (PASSED, {"workloads": [PASSED.to_json()["workloads"][0] | {"equal": False}]}, "true, but"),
        (PASSED, {"passed": "yes"}, "passed"),
        (PASSED, {"held_out": [HELD | {"exit_code": 256}]}, r"held_out\[0\]\.exit_code"),
        (PASSED, {"held_out": [HELD | {"exit_code": "1"}]}, r"held_out\[0\]\.exit_code"),
        (PASSED, {"resident_bytes": {"w": {"original": 5}}}, r"resident_bytes\.w\.debloated"),
    ],
)
def test_contradictions_are_refused(
    tmp_path: Path, verdict: Verdict, change: dict[str, Any], said: str
) -> None:
    write_json(tmp_path / "verify.json", verdict.to_json() | change)
    with pytest.raises(TrimtabError, match=rf"verify\.json: .*{said}"):
        Verdict.read(tmp_path / "verify.json")


def test_held_out_inputs_without_exit_codes_are_read(tmp_path: Path) -> None:
    """As they were written when an input had to end as its workload does."""
    held = HeldOutInput("w", "suite", ["x"], [HeldOutRun("restore", 0, equal=True)], 1, -15)
    verdict = PASSED.model_copy(update={"held_out": [held]})
    verdict.write(tmp_path / "verify.json")
    assert Verdict.read(tmp_path / "verify.json").held_out == [held] and held.own_exit_code == 1
    document = verdict.to_json()
    for key in ("exit_code", "workload_exit_code"):
        del document["held_out"][0][key]
    write_json(tmp_path / "verify.json", document)
    (old,) = Verdict.read(tmp_path / "verify.json").held_out
    assert old == replace(held, exit_code=0, workload_exit_code=0) and old.own_exit_code is None


def test_a_crash_in_words() -> None:
    assert str(Crash("SIGTRAP", "lib/x.so", 16, "f")) == "SIGTRAP in lib/x.so, f at 0x10"
    assert str(Crash("SIGSEGV", "", 0, "")) == "SIGSEGV in no library, 0x0"
