"""From a tuner's YAML to the object: what lies in this package and has `build` is a kind.

A kind is a module of the kind's name with a function

    def build(facts: Facts, *, some_key: float = 1.0) -> Tuner

whose keyword arguments are the keys of the YAML's `parameters`. Nothing lists the kinds: a file
put here is one.
"""

from collections.abc import Mapping
from typing import Any, cast

from trimtab.plugins import build_plugin
from trimtab.tuning import tuners
from trimtab.tuning.tuners.base import Tuner, TunerInputs


def build_tuner(kind: str, parameters: Mapping[str, Any], facts: TunerInputs) -> Tuner:
    """Return the tuner of the module `kind` made with `parameters`.

    Raises UserError for a module or a parameter that is not there, and as the tuner itself does.
    """
    return cast(
        Tuner, build_plugin(tuners.__name__, tuners.__path__, "tuner", kind, parameters, facts)
    )
