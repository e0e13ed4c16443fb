"""The tuners' results: the best configurations, and trials rung by rung."""

import json
from collections.abc import Iterator
from typing import Any, cast

from trimtab.evaluation.inputs.tunings import SeedSearch, TunedCell, values_in
from trimtab.evaluation.report.tables import SOURCE_COLUMNS, Column, Row, Table, Value, number
from trimtab.evaluation.tuning.section import WHO, TuningSection, who

_SEED = Column("seed", "Seed", 0)
_BUDGET = (Column("epochs", "Epochs", 0), Column("data_fraction", "Data", 2))
# Columns of inference, if it was tuned.
_INFERENCE = {
    "inference_s": ("Inference, s a sample", 6),
    "inference_s_low": ("at least, emulated", 6),
    "inference_s_high": ("at most, emulated", 6),
    "inference_j": ("J a sample", 6),
}


class BestConfigurations(TuningSection):
    """The best configuration of every search, and its rungs."""

    order = 640

    def make_tables(self) -> Iterator[Table]:
        """Yield the best configurations, then the rungs."""
        cells = self.measurements.tunings
        searches = [(cell, search) for cell in cells for search in cell.searches]
        known = [key for key in _INFERENCE if any(s.trials[key].notna().any() for _, s in searches)]
        several = any(len(values_in(text)) > 1 for _, s in searches for text in s.trials["values"])
        yield Table(
            "best_configurations",
            "Best configurations",
            "The configuration with the highest score on the largest budget, of each search; by "
            "several objectives, the chosen one of the Pareto front. "
            "Settings are the machine's at the end of the trial; the score is the objective's, "
            "higher is better. Inference with an interval was emulated on this machine and "
            "scaled by rooflines; docs/methods/inference.md explains the interval.",
            (
                *WHO, _SEED, Column("configuration", "Configuration"),
                Column("settings", "Settings"), *_BUDGET, Column("score", "Score", 4),
                *([Column("values", "Objectives")] if several else []),
                Column("accuracy_pct", "Accuracy, %", 2), Column("training_s", "Training, s", 1),
                Column("training_j", "Energy, J", 0),
                *(Column(key, *_INFERENCE[key]) for key in known),
                Column("energy_source", "Energy"), *SOURCE_COLUMNS,
            ),
            tuple(
                _best(cell, search, search.best, known)
                for cell, search in searches
                if search.best is not None
            ),
            missing="No trial has a score.",
        )  # fmt: skip
        yield Table(
            "rungs",
            "Rungs",
            "The trials of all searches on each rung. The best of those that did not fail are "
            "promoted to the next rung of their bracket. Times are of the rung's own process, "
            "with its start.",
            (
                *WHO, Column("fold", "Fold", 0), Column("bracket", "Bracket", 0),
                Column("rung", "Rung", 0), *_BUDGET,
                Column("trials", "Trials", 0), Column("failed", "Failed", 0),
                Column("score_median", "Median score", 4), Column("score_best", "Best score", 4),
                Column("wall_median_s", "Median time, s", 1),
                Column("start_up_median_s", "of it start-up, s", 1), *SOURCE_COLUMNS,
            ),
            tuple(row for cell in cells for row in _rungs(cell)),
        )  # fmt: skip


def _best(cell: TunedCell, search: SeedSearch, best: Any, known: list[str]) -> Row:
    row: dict[str, Value] = {
        **who(cell),
        "seed": search.seed,
        "configuration": format_parameter_name(best["configuration"]),
        "settings": format_parameter_name(best["settings"]),
        "epochs": int(best["epochs"]),
        "accuracy_pct": 100 * float(best["accuracy"]),
        "energy_source": cell.energy_source,
        "source": "measured",
    }
    if len(values := values_in(best["values"])) > 1:
        row["values"] = format_parameter_name(json.dumps(values))
    keys = ["data_fraction", "score", "training_s", "training_j", *known]
    return row | {key: number(best[key]) for key in keys if key in best}


def _rungs(cell: TunedCell) -> Iterator[Row]:
    by: list[str] = ["fold", "bracket", "rung", "epochs", "data_fraction"]
    for key, rows in cell.trials.groupby(by, sort=True):
        fold, bracket, rung, epochs, fraction = cast(tuple[int, int, int, int, float], key)
        yield {
            **who(cell),
            "fold": int(fold),
            "bracket": int(bracket) + 1,
            "rung": int(rung) + 1,
            "epochs": int(epochs),
            "data_fraction": float(fraction),
            "trials": len(rows),
            "failed": int(rows["score"].isna().sum()),
            "score_median": number(rows["score"].median()),
            "score_best": number(rows["score"].max()),
            "wall_median_s": number(rows["wall_s"].median()),
            "start_up_median_s": number(rows["start_up_s"].median()),
            "source": "measured",
        }


def format_parameter_name(text: str) -> str:
    """Return a JSON object of values for readers: batch_size 16, learning_rate 0.0012."""
    try:
        values = json.loads(text)
    except ValueError:
        return text
    if not isinstance(values, dict):
        return text
    return ", ".join(
        f"{name.partition('.')[2] or name} {f'{value:.3g}' if isinstance(value, float) else value}"
        for name, value in values.items()
    )
