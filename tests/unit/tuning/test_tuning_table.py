"""The table of benchmarks/README.md on tuning: what is compared with what."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import tuning_table
from tuning import response


def test_ours_under_other_settings_is_no_peer() -> None:
    def measured(less: float | None) -> dict[str, Any]:
        judged = None if less is None else {"difference": less, "interval": [less, less]}
        return {"ours_less_this": judged, "tasks": 34, "seeds": 5, "complete": True}

    methods = {"ours": measured(-0.1), "ours:halving=9": measured(None), "dehb": measured(0.2)}
    rows = list(tuning_table._surrogates({"lcbench": {"20 full trainings": methods}}))
    [(what, _, figure, verdict)] = rows
    assert "against dehb" in what and figure.startswith("+0.200") and verdict == "**missed**"


def test_response_times_of_a_shared_machine() -> None:
    """By hand, M/D/1: at a load of a half 10 s become 15, and 5 s at half of that load 5.83."""
    runs = {name: [{"tuning_s": s}] * 5 for name, s in (
        ("tune_v1", 10.0), ("pipetune", 5.0), ("pipetune_known", 5.0))}  # fmt: skip
    assert response.ratio(runs, 0.5)["median"] == pytest.approx((5 + 0.05 * 25 / 1.5) / 15)
    slow = {**runs, "pipetune": [{"tuning_s": 100.0}] * 4}  # jobs pile up, and one seed is missing
    assert response.ratio(slow, 0.8) == dict.fromkeys(("median", "low", "high"), float("inf"))
