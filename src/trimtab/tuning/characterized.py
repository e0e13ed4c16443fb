"""Parameters without impact, by a characterization: searches leave them at their defaults."""

from pathlib import Path

from trimtab.config.groups.tuning import Tuning
from trimtab.errors import UserError
from trimtab.records.characterization.impact import without_impact
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import CHARACTERIZATION_RUNS


def parameters_without_impact(tuning: Tuning) -> list[str]:
    """Return the full names of the parameters that `tuning.characterized` shows to matter little.

    The characterization rates their impact low or none on all metrics. Parameters in a condition or
    a forbidden set are not returned, as others depend on them. Raises UserError where the file or
    the workload is missing, or where nothing is left to search, and TrimtabError for an invalid
    file.
    """
    if tuning.characterized is None:
        return []
    path, workload = Path(tuning.characterized.runs), tuning.characterized.workload
    runs = read_table(path, CHARACTERIZATION_RUNS)
    own = runs[runs["workload"] == workload]
    if own.empty:
        known = ", ".join(sorted(set(runs["workload"]))) or "none"
        raise UserError(
            f"tuning.characterized.workload: {workload!r} is not in {path}; there are: {known}"
        )
    idle = set(without_impact(own))
    decisive = {name for parameter in tuning.parameters.values() for name in parameter.when}
    decisive.update(name for values in tuning.forbidden for name in values)
    found = [
        name
        for name in tuning.parameters
        if name.partition(".")[2] in idle and name not in decisive
    ]
    if len(found) == len(tuning.parameters):
        raise UserError(
            f"tuning.characterized: nothing to search: by {path} none of the parameters matters "
            f"to {workload}: {', '.join(found)}"
        )
    return found
