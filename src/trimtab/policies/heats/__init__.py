"""HEATS: the policy, its predictions, and how these are trained and kept up to date."""

import dataclasses
from typing import Any

from trimtab.policies.facts import Facts
from trimtab.policies.heats.policy import Heats
from trimtab.policies.heats.training import HeatsParameters, Maintenance, from_model, train


def keys() -> list[str]:
    """Return the keys of a YAML of the kind `heats`; HeatsParameters says what they mean."""
    return [spec.name for spec in dataclasses.fields(HeatsParameters)]


def build(facts: Facts, **parameters: Any) -> Heats:
    """Return the policy that a YAML of the kind `heats` describes."""
    given = HeatsParameters(**parameters)
    model = train(facts, given)
    maintained = given.maintenance_s is not None
    return from_model(
        model, facts, given, maintenance=Maintenance(model, facts, given) if maintained else None
    )
