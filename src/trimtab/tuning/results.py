"""The results of a search's trials, as rows of the table of trials, from its journal."""

import json
import math
from pathlib import Path
from typing import Any, Protocol

from trimtab.errors import TrimtabError
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.journal import Row, TrialRecord
from trimtab.tuning.plan import RungResult
from trimtab.tuning.scoring.score import Failure

OLD_ROWS = "results*.jsonl"  # until version 0.1: rows in files beside the journal, a line each


class _Trials(Protocol):
    def trials(self) -> list[TrialRecord]:
        """Return all trials of a search, by number."""


def row_of_result(result: RungResult) -> Row:
    """Return the journal's row of a trial's score; `rows_of` adds the journal's own fields.

    Unknown joules are None.
    """
    tuning_s, tuning_j = result.inference_tuning or (None, math.nan)
    metrics = {} if isinstance(result.result, Failure) else result.metrics
    return {
        "bracket": result.job.bracket,
        "rung": result.job.rung,
        "settings": json.dumps(dict(result.settings), sort_keys=True),
        "not_set": json.dumps(dict(result.not_set), sort_keys=True),
        "others": list(result.others),
        "accuracy": metrics.get("accuracy"),
        "epochs_trained": result.epochs_trained,
        "training_s": result.training_s,
        "training_j": _finite(result.training_j),
        "energy_source": result.energy_source,
        "inference_s": metrics.get("inference_s"),
        "inference_j": metrics.get("inference_j"),
        "inference_s_low": metrics.get("inference_s_low"),
        "inference_s_high": metrics.get("inference_s_high"),
        "inference_tuning_s": tuning_s,
        "inference_tuning_j": _finite(tuning_j),
        "wall_s": result.wall_s,
        "cpu_s": result.cpu_s,
        "energy_j": _finite(result.energy_j),
        "work_epochs": result.work_epochs,
        "start_up_s": result.start_up_s,
        "began_s": result.began_s,
        "ended_s": result.ended_s,
        **result.steering,
        "by_epoch": json.dumps(result.by_epoch),
    }


def rows_of(study: _Trials, folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a search, of all its machines, in the order of trials and rungs.

    Rows of searches of version 0.1 are in `folder`, not in the journal. Raises TrimtabError for a
    lost row with a score, as that may be the best.
    """
    old = _old_rows(folder)
    found = []
    for told in study.trials():
        for budget in sorted({*told.scores, *told.rows}):
            row = told.rows.get(budget) or old.get((told.number, budget))
            if row is None:
                raise TrimtabError(
                    f"{folder}: what trial {told.number} came to on {budget.epochs} epochs was lost"
                    " by an earlier version; remove the folder, and the search begins again"
                )
            found.append(
                {
                    **row,
                    "trial": told.number,
                    "epochs": budget.epochs,
                    "data_fraction": budget.data_fraction,
                    "configuration": json.dumps(dict(told.configuration), sort_keys=True),
                    "score": told.scores.get(budget),
                    "failure": _failure(told, budget),
                }
            )
        if told.failure is not None:
            found += [
                row
                for (trial, budget), row in old.items()
                if trial == told.number and budget not in {*told.scores, *told.rows}
            ]
    return sorted(found, key=lambda row: (row["trial"], row["rung"]))


def _failure(told: TrialRecord, budget: Budget) -> str:
    return "" if budget in told.scores or told.failure is None else told.failure.reason


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _old_rows(folder: Path) -> dict[tuple[int, Budget], dict[str, Any]]:
    """Return the rows in files, by trial and budget; the later of two of one rung counts."""
    found: dict[tuple[int, Budget], dict[str, Any]] = {}
    for path in sorted(folder.glob(OLD_ROWS)):
        for line in path.read_text().splitlines():
            try:
                row = json.loads(line)
            except ValueError:  # half a line, of a killed process
                continue
            key = row["trial"], Budget(row["epochs"], row["data_fraction"])
            if key not in found or row["ended_s"] >= found[key]["ended_s"]:
                found[key] = row
    return found
