"""The trials of an earlier search, for a search that learns from them."""

import json
from pathlib import Path

from trimtab.config.groups.objective import Objective
from trimtab.errors import UserError
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import TRIALS
from trimtab.tuning.fidelity import Budget
from trimtab.tuning.journal import TrialRecord
from trimtab.tuning.scoring.score import scores_of
from trimtab.tuning.space import Configuration, SearchSpace


def earlier_trials(
    path: Path, objective: Objective, space: SearchSpace, fold: int
) -> list[TrialRecord]:
    """Return the trials of a table in `space`, with their scores by `objective`.

    Those are left out that have other parameters or values, no score, or more epochs than a trial
    of this search. Raises UserError where none is left, and as `read_table`.
    """
    scores = scores_of(objective)
    expressions = [one.expression for one in scores]
    table = read_table(path, TRIALS)
    found = dict[tuple[int, int], TrialRecord]()
    for row in table[table["score"].notna() & (table["fold"] == fold)].to_dict("records"):
        configuration, values = json.loads(row["configuration"]), json.loads(row["values"])
        budget = Budget(row["epochs"], row["data_fraction"])
        if (
            not values.keys() >= set(expressions)
            or budget.epochs > space.tuning.epochs.most
            or not _is_in(space, configuration)
        ):
            continue
        first, *others = (one.as_defined(values[one.expression]) for one in scores)
        key = row["seed"], row["trial"]
        trial = found.setdefault(key, TrialRecord(-1, configuration, {}, None, False, {}, {}))
        found[key] = TrialRecord(
            -1, configuration, {**trial.scores, budget: first}, None, False, {},
            {**trial.rows, budget: {"others": others}},
        )  # fmt: skip
    if not found:
        raise UserError(
            f"{path}: no trial to learn from; expected some with a score by"
            f" {', '.join(expressions)}, at most {space.tuning.epochs.most} epochs and the"
            f" parameters {', '.join(space.names)}, each with a value that it still has"
        )
    return list(found.values())


def _is_in(space: SearchSpace, configuration: Configuration) -> bool:
    """Whether a configuration is one of the space: its active parameters, each with its values."""
    try:
        same = space.configuration(configuration.__getitem__, {})
        space.check(configuration)
    except (KeyError, UserError):
        return False
    return same == configuration and space.allows(configuration)
