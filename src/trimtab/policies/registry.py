"""Builds a policy from its YAML: each module of this package with `build` is a kind.

The module or package has the kind's name and a function

    def build(facts: Facts, *, some_key: float = 1.0) -> Policy

whose keyword arguments are the keys of the YAML's `parameters`. There is no list of kinds: a module
added here is one.
"""

from collections.abc import Mapping
from typing import Any, cast

from trimtab import policies
from trimtab.plugins import build_plugin
from trimtab.policies.base import Policy
from trimtab.policies.facts import PolicyInputs


def build_policy(kind: str, parameters: Mapping[str, Any], facts: PolicyInputs) -> Policy:
    """Return the policy of the module `kind` with `parameters`.

    Raises UserError for an unknown module or parameter, and as the policy itself does.
    """
    return cast(
        Policy,
        build_plugin(policies.__name__, policies.__path__, "policy", kind, parameters, facts),
    )
