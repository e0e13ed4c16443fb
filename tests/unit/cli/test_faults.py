"""A few of the faults that benchmarks/faults.py injects into every call of ours."""

import json
import subprocess
import sys
from pathlib import Path

CAMPAIGN = Path(__file__).parents[3] / "benchmarks/faults.py"


def test_a_call_that_fails_leaves_nothing_half(tmp_path: Path) -> None:
    output, verbs = tmp_path / "faults.json", ("debloat", "reconstruct")
    command = [sys.executable, CAMPAIGN, "--most", "4", "--verbs", *verbs, "--output", output]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    figures = json.loads(output.read_text())
    assert figures["faults"] > 4 and figures["problems"] == []
    assert all(figures["ended_with_an_error"][verb] > 0 for verb in verbs)
