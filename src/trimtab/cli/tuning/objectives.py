"""The objectives of `trimtab tune`, as typed: one, or several with bounds."""

from collections.abc import Sequence
from dataclasses import asdict

from trimtab.config import Configurations
from trimtab.config.fields import MistakeError
from trimtab.config.groups.objective import Objective
from trimtab.config.validate import checked, nearest
from trimtab.errors import UserError


def objective_of(configurations: Configurations, names: str, bounds: Sequence[str]) -> Objective:
    """Return the objective of `names`, separated by commas, with `bounds` such as `time=60`.

    Raises UserError for an unknown or repeated name, and for a bound of no objective among several.
    """
    each = [configurations.option("objective", name.strip()) for name in names.split(",")]
    first = asdict(each[0])
    scores = [{"score": one.score, "goal": one.goal} for one in each[1:]]
    scores += [asdict(further) for one in each for further in one.others]
    expressions = {one.name: one.score for one in each}
    expressions |= {score["score"]: score["score"] for score in [first, *scores]}
    limits = dict(first["bounds"])
    for text in bounds:
        name, _, value = text.partition("=")
        if name not in expressions:
            raise UserError(
                f"--bound {text}: no objective {name!r}; {nearest(name, expressions)}expected one"
                f" of {', '.join(expressions)}"
            )
        try:
            limits[expressions[name]] = float(value)
        except ValueError:
            raise UserError(f"--bound {text}: expected a number, as {name}=0.9") from None
    made = {"name": "_and_".join(one.name for one in each), "others": scores, "bounds": limits}
    try:
        return checked(first | made, Objective)
    except MistakeError as error:
        raise UserError(f"--objective {names}: {error}") from None
