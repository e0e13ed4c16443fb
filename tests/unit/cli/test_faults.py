"""A few of the faults that benchmarks/faults.py injects into every call of ours."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CAMPAIGN = Path(__file__).parents[3] / "benchmarks/faults.py"


@pytest.mark.parametrize(("verb", "most"), [("debloat", 8), ("reconstruct", 12)])
def test_a_call_that_fails_leaves_nothing_half(verb: str, most: int, tmp_path: Path) -> None:
    output = tmp_path / "faults.json"
    command = [sys.executable, CAMPAIGN, "--most", str(most), "--verbs", verb, "--output", output]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    figures = json.loads(output.read_text())
    assert figures["faults"] > most // 2 and figures["problems"] == []
    assert figures["ended_with_an_error"][verb] > 0
