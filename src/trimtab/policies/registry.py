"""From a policy's YAML to the object: what lies in this package and has `build` is a kind.

A kind is a module, or a package, of the kind's name with a function

    def build(facts: Facts, *, some_key: float = 1.0) -> Policy

whose keyword arguments are the keys of the YAML's `parameters`. Nothing lists the kinds: a file
put here is one.
"""

from collections.abc import Mapping
from typing import Any, cast

from trimtab import policies
from trimtab.plugins import build_plugin
from trimtab.policies.base import Policy
from trimtab.policies.facts import PolicyInputs


def build_policy(kind: str, parameters: Mapping[str, Any], facts: PolicyInputs) -> Policy:
    """Return the policy of the module `kind` made with `parameters`.

    Raises UserError for a module or a parameter that is not there, and as the policy itself does.
    """
    return cast(
        Policy,
        build_plugin(policies.__name__, policies.__path__, "policy", kind, parameters, facts),
    )
