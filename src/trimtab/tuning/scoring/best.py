"""The best of a search: the trials on its Pareto front, and the chosen one."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trimtab.config.groups.objective import Objective
from trimtab.errors import TrimtabError
from trimtab.tuning.scoring.front import choice, front_of
from trimtab.tuning.scoring.score import scores_of

Row = dict[str, Any]  # of the table of trials, with the `others` of its score


def front_in(rows: Sequence[Row]) -> list[Row]:
    """Return the rows on the front of those with the largest budget that have a score.

    By one score, these are its best. Earlier seeds and trials are first. Raises TrimtabError where
    no trial has a score.
    """
    good = [row for row in rows if row["score"] is not None]
    if not good:
        failures = {row["failure"] for row in rows} or {"the search ended before one did"}
        raise TrimtabError(f"no trial has a score: {'; '.join(sorted(failures)[:3])}")
    most = max((row["epochs"], row["data_fraction"]) for row in good)
    full = [row for row in good if (row["epochs"], row["data_fraction"]) == most]
    full.sort(key=lambda row: (row["seed"], row["trial"]))
    return [full[at] for at in front_of([_all(row) for row in full])]


def best_of(rows: Sequence[Row], objective: Objective) -> Row:
    """Return the chosen row of the front: nearest to the ideal point, within the bounds.

    By one score, it is the best. The first seed and trial win ties. Raises as `front_in`.
    """
    front = front_in(rows)
    bounds = [
        None if (bound := objective.bounds.get(one.expression)) is None else one.as_defined(bound)
        for one in scores_of(objective)
    ]
    return front[choice([_all(row) for row in front], bounds)]


def format_choice(values: Mapping[str, float], front: int, objective: Objective) -> str:
    """Return how the trial with these `values` was chosen, of `front` on the Pareto front."""
    said = f"chosen of {front} on the Pareto front"
    scores = {one.expression: one for one in scores_of(objective)}
    bounds = [
        f"{name} of at {'least' if scores[name].as_defined(1.0) > 0 else 'most'} {bound:g}"
        for name, bound in objective.bounds.items()
    ]
    if bounds:
        is_kept = all(
            scores[name].as_defined(values[name]) >= scores[name].as_defined(bound)
            for name, bound in objective.bounds.items()
        )
        said += f", {'with' if is_kept else 'none with'} {' and '.join(bounds)}"
    free = [name for name in scores if name not in objective.bounds] or list(scores)
    return f"{said}: the nearest to the best {' and '.join(free)}"


def values_of(row: Row, objective: Objective) -> dict[str, float]:
    """Return the values of the objective's expressions; raises ValueError for another number."""
    scores = zip(scores_of(objective), _all(row), strict=True)
    return {one.expression: one.as_defined(score) for one, score in scores}


def marked(rows: Sequence[Row], objective: Objective) -> list[Row]:
    """Return the rows of one search with the columns `values`, `on_front` and `chosen`."""
    is_judged = any(row["score"] is not None for row in rows)
    front = front_in(rows) if is_judged else []
    chosen = best_of(rows, objective) if is_judged else None
    return [
        {
            **row,
            "values": "" if row["score"] is None else json.dumps(values_of(row, objective)),
            "on_front": any(row is one for one in front),
            "chosen": row is chosen,
        }
        for row in rows
    ]


def _all(row: Row) -> tuple[float, ...]:
    return (row["score"], *row.get("others", ()))
