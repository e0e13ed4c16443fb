"""Builds a tuner from its YAML: each module of this package with `build` is a kind.

The module has the kind's name and a function

    def build(facts: Facts, *, some_key: float = 1.0) -> Tuner

whose keyword arguments are the keys of the YAML's `parameters`. There is no list of kinds: a module
added here is one.
"""

from collections.abc import Mapping
from typing import Any, cast

from trimtab.plugins import build_plugin
from trimtab.tuning import tuners
from trimtab.tuning.tuners.base import Tuner, TunerInputs


def build_tuner(kind: str, parameters: Mapping[str, Any], facts: TunerInputs) -> Tuner:
    """Return the tuner of the module `kind` with `parameters`.

    Raises UserError for an unknown module or parameter, and as the tuner itself does.
    """
    return cast(
        Tuner, build_plugin(tuners.__name__, tuners.__path__, "tuner", kind, parameters, facts)
    )
