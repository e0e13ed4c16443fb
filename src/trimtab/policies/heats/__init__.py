"""HEATS: the policy, its predictions, and their training and maintenance."""

from typing import Any

from trimtab.policies.facts import PolicyInputs
from trimtab.policies.heats.policy import Heats
from trimtab.policies.heats.training import HeatsParameters, Maintenance, from_model, train

MADE_WITH = HeatsParameters


def build(facts: PolicyInputs, **parameters: Any) -> Heats:
    """Return the policy of a YAML of the kind `heats`."""
    given = HeatsParameters(**parameters)
    model = train(facts, given)
    maintained = given.maintenance_s is not None
    return from_model(
        model, facts, given, maintenance=Maintenance(model, facts, given) if maintained else None
    )
