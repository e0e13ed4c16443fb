"""What the trials of a search came to, kept while it goes on."""

import json
import math
from pathlib import Path
from typing import Any

from trimtab.tuning.plan import RungResult
from trimtab.tuning.score import Failure


class Results:
    """What trials came to, a line of JSON each: a process that goes on finds those of earlier.

    Each machine of a search has a file of its own, `results_1.jsonl` and so on.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, result: RungResult, inference: tuple[float, float] | None = None) -> None:
        """Append a result, and the seconds and joules of tuning `inference` since the last one.

        Of two of a trial on a rung the later one counts. Half a line that a killed process left is
        no result.
        """
        tuning_s, tuning_j = inference or (None, math.nan)
        failed = isinstance(result.result, Failure)
        row = {
            "trial": result.trial,
            "bracket": result.job.bracket,
            "rung": result.job.rung,
            "epochs": result.budget.epochs,
            "data_fraction": result.budget.data_fraction,
            "configuration": json.dumps(result.configuration, sort_keys=True),
            "settings": json.dumps(dict(result.settings), sort_keys=True),
            "not_set": json.dumps(dict(result.not_set), sort_keys=True),
            "score": None if isinstance(result.result, Failure) else result.result,
            "failure": result.result.reason if isinstance(result.result, Failure) else "",
            "accuracy": None if failed else result.metrics.get("accuracy"),
            "epochs_trained": result.epochs_trained,
            "training_s": result.training_s,
            "training_j": result.training_j if math.isfinite(result.training_j) else None,
            "energy_source": result.energy_source,
            "inference_s": None if failed else result.metrics.get("inference_s"),
            "inference_j": None if failed else result.metrics.get("inference_j"),
            "inference_s_low": None if failed else result.metrics.get("inference_s_low"),
            "inference_s_high": None if failed else result.metrics.get("inference_s_high"),
            "inference_tuning_s": tuning_s,
            "inference_tuning_j": tuning_j if math.isfinite(tuning_j) else None,
            "wall_s": result.wall_s,
            "cpu_s": result.cpu_s,
            "energy_j": result.energy_j if math.isfinite(result.energy_j) else None,
            "work_epochs": result.work_epochs,
            "start_up_s": result.start_up_s,
            "began_s": result.began_s,
            "ended_s": result.ended_s,
            **result.steering,
            "by_epoch": json.dumps(result.by_epoch),
        }
        with self._path.open("a") as file:
            # Behind half a line that a killed process left, which is none.
            file.write(f"\n{json.dumps(row)}\n")

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of all machines, in the order of their trials and rungs.

        Of one that was judged twice, as its first judge was killed, the later counts.
        """
        found: dict[tuple[int, int], dict[str, Any]] = {}
        for path in sorted(self._path.parent.glob("results*.jsonl")):
            for line in path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue
                key = row["trial"], row["rung"]
                if key not in found or row["ended_s"] >= found[key]["ended_s"]:
                    found[key] = row
        return [found[key] for key in sorted(found)]
