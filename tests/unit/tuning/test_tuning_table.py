"""The table of benchmarks/README.md on tuning: what is compared with what."""

import sys
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
import tuning_table


def test_ours_under_other_settings_is_no_peer() -> None:
    def measured(less: float | None) -> dict[str, Any]:
        judged = None if less is None else {"difference": less, "interval": [less, less]}
        return {"ours_less_this": judged, "tasks": 34, "seeds": 5, "complete": True}

    methods = {"ours": measured(-0.1), "ours:halving=9": measured(None), "dehb": measured(0.2)}
    rows = list(tuning_table._surrogates({"lcbench": {"20 full trainings": methods}}))
    [(what, _, figure, verdict)] = rows
    assert "against dehb" in what and figure.startswith("+0.200") and verdict == "**missed**"
