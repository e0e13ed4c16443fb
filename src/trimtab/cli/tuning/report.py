"""What `trimtab tune` prints and returns: the plan, the trials as they end, and the best."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from trimtab.cli.output.console import console
from trimtab.cli.tuning.trackers import Track
from trimtab.config.groups.objective import Objective

if TYPE_CHECKING:
    from trimtab.tuning.plan import RungResult
    from trimtab.tuning.tune import Request

SEED = 1
_LEADING, _FRONT = 5, 10  # trials in the last table, by one objective and by several


def search(request: "Request", folder: Path, ground_truth: Path, track: Track) -> dict[str, Any]:
    """Search once; print the plan, the trials as they end, and the best.

    `track` gets each result. Returns the result of `--json`.
    """
    from trimtab.cli.tuning.trial_lines import TrialLines
    from trimtab.tuning import tune as stage
    from trimtab.tuning.deployment.outputs import result_in
    from trimtab.tuning.plan import format_plan

    made = request.made(ground_truth)
    objective, tuner = request.judged_by(made), request.tuner.label or request.tuner.name
    said = f"{tuner}, for {request.objective.name}"
    if objective != request.objective:
        said = f"{tuner}, for {objective.score}: it measures no inference"
    console.notes.print(said)
    for line in format_plan(list(made.brackets), made.fidelity):
        console.notes.print(line, soft_wrap=True)
    here = request.searches(folder) / f"seed_{SEED}"
    folds = [(made, objective, here)]
    if made.first is not None:
        folds.insert(0, (made.first, Objective("accuracy"), here / stage.FIRST_FOLD))
    rungs = sum(rung.trials for one, _, _ in folds for bracket in one.brackets for rung in bracket)
    told = TrialLines([objective for _, objective, _ in folds], rungs)
    before = 0
    for fold, (_, _, searched) in enumerate(folds, start=1):
        for row in stage.found_in(searched):
            scores = None if row["score"] is None else (row["score"], *row.get("others", ()))
            told.add(fold, row["trial"], row["epochs"], row["data_fraction"], scores)
            before += 1
    if before:
        console.notes.print(f"{before} of {rungs} are there from before")

    def on_result(_: int, fold: int, result: "RungResult") -> None:
        # The next process judges the last result of an ended one again.
        if (line := told.line(fold, result)) is not None:
            console.notes.print(line, soft_wrap=True)
            track(result)

    stage.tune(request, [SEED], folder, ground_truth, on_result)
    console.notes.print(_best_of(folder / "best.yaml", request))
    trials = folder / "trials.parquet"
    if objective.others:
        _say_front(trials, objective)
    else:
        console.notes.print(_leading(trials, objective))
    _say_cost_of_inference(trials)
    written = [folder / "best.yaml"]
    if made.inference is not None:
        written.append(folder / "inference.yaml")
    for path in written:
        console.path(path)
    found: dict[str, Any] = {path.stem: {"path": path, **result_in(path)} for path in written}
    if objective.others:
        found["front"] = _front(trials)
    return {**found, "trials": {"path": trials, **_totals(trials)}}


def _totals(path: Path) -> dict[str, Any]:
    """Return the total cost of all trials; unknown joules are NaN."""
    from trimtab.records.parquet.files import read_table
    from trimtab.records.tables import TRIALS

    trials = read_table(path, TRIALS)
    return {
        "rungs": len(trials),
        "failed_rungs": int(trials["score"].isna().sum()),
        "wall_s": float(trials["wall_s"].sum()),
        "cpu_s": float(trials["cpu_s"].sum()),
        "energy_j": float(trials["energy_j"].sum(skipna=False)),
    }


def _say_cost_of_inference(path: Path) -> None:
    from trimtab.records.parquet.files import read_table
    from trimtab.records.tables import TRIALS

    trials = read_table(path, TRIALS)
    if trials["inference_tuning_s"].notna().any():
        spent_s, spent_j = (trials[f"inference_tuning_{unit}"].sum() for unit in "sj")
        console.notes.print(
            f"tuning inference took {spent_s:.1f} s and {spent_j:.4g} J", soft_wrap=True
        )


def _leading(path: Path, objective: Objective) -> Table:
    """Return the table of the best trials, each with its most training."""
    from trimtab.records.parquet.files import read_table
    from trimtab.records.tables import TRIALS
    from trimtab.tuning.scoring.score import Score

    trials = read_table(path, TRIALS)
    scored = trials[trials["score"].notna() & (trials["fold"] == trials["fold"].max())]
    order = ["epochs", "data_fraction", "score"]
    leading = scored.sort_values(order, ascending=False).drop_duplicates("trial").head(_LEADING)
    configurations = [json.loads(text) for text in leading["configuration"]]
    names = sorted({name for one in configurations for name in one})
    table = Table("trial", "epochs", "score", "s", "J", *(name.partition(".")[2] for name in names))
    for row, given in zip(leading.itertuples(), configurations, strict=True):
        table.add_row(
            str(row.trial), str(row.epochs), _shown(Score(objective).as_defined(row.score)),
            _shown(row.training_s), _shown(row.training_j), *(_shown(given.get(n)) for n in names),
        )  # fmt: skip
    return table


def _front(path: Path) -> list[dict[str, Any]]:
    """Return the trials on the Pareto front, the best by the first objective first."""
    from trimtab.records.parquet.files import read_table
    from trimtab.records.tables import TRIALS

    trials = read_table(path, TRIALS)
    front = trials[trials["on_front"] & (trials["fold"] == trials["fold"].max())]
    return [
        {
            "trial": int(row.trial),
            "chosen": bool(row.chosen),
            "scores": json.loads(row.values_),
            "parameters": json.loads(row.configuration),
        }
        for row in front.sort_values("score", ascending=False)
        .rename(columns={"values": "values_"})
        .itertuples()
    ]


def _say_front(path: Path, objective: Objective) -> None:
    """Print at most ten trials of the Pareto front, from one end to the other."""
    from trimtab.tuning.scoring.best import format_choice

    front = _front(path)
    chosen = next(at for at, one in enumerate(front) if one["chosen"])
    step = max(1.0, len(front) / (_FRONT - 1))
    shown = sorted(
        {chosen, *(int(at * step) for at in range(_FRONT - 1) if at * step < len(front))}
    )
    names = sorted({name for one in front for name in one["parameters"]})
    values = front[chosen]["scores"]
    table = Table("trial", *values, *(name.partition(".")[2] for name in names))
    for one in (front[at] for at in shown):
        mark = "*" if one["chosen"] else ""
        table.add_row(
            f"{one['trial']}{mark}", *map(_shown, one["scores"].values()),
            *(_shown(one["parameters"].get(name)) for name in names),
        )  # fmt: skip
    console.notes.print(f"* {format_choice(values, len(front), objective)}", soft_wrap=True)
    console.notes.print(table)


def _shown(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _best_of(path: Path, request: "Request") -> Table:
    """Return the table of best.yaml, and the source of its joules."""
    from trimtab.tuning.deployment.outputs import result_in

    table = Table("best", "")
    for name, value in _flat(result_in(path)):
        table.add_row(name, _shown(value))
    return table


def _flat(document: dict[str, Any], before: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for key, value in document.items():
        if isinstance(value, dict):
            rows += _flat(value, f"{before}{key}.")
        else:
            rows.append((f"{before}{key}", value))
    return rows
