"""A verdict says one thing: passed, or what failed."""

from pathlib import Path
from typing import Any

import pytest

from trimtab.errors import TrimtabError
from trimtab.files import write_json
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
        (PASSED, {"resident_bytes": {"w": {"original": 5}}}, r"resident_bytes\.w\.debloated"),
    ],
)
def test_contradictions_are_refused(
    tmp_path: Path, verdict: Verdict, change: dict[str, Any], said: str
) -> None:
    write_json(tmp_path / "verify.json", verdict.to_json() | change)
    with pytest.raises(TrimtabError, match=rf"verify\.json: .*{said}"):
        Verdict.read(tmp_path / "verify.json")


def test_a_crash_in_words() -> None:
    assert str(Crash("SIGTRAP", "lib/x.so", 16, "f")) == "SIGTRAP in lib/x.so, f at 0x10"
    assert str(Crash("SIGSEGV", "", 0, "")) == "SIGSEGV in no library, 0x0"
