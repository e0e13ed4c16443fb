"""Builds policies of batch queues from the text of an option.

`easy` is the module of that name in this package, `heats:energy_weight=0.5` gives its `build` a
number, and `./mine.py` is a file of the user's own with such a `build`.
"""

import importlib.util
import math
from pathlib import Path
from types import ModuleType

from trimtab.batch import policies
from trimtab.batch.policies.base import BatchPolicy
from trimtab.errors import UserError
from trimtab.plugins import build_from, choose

_OPTION = "--policy"


def build_batch_policy(text: str) -> tuple[str, BatchPolicy]:
    """Return the name and the policy of `text`: NAME or FILE.py, then `:key=number` as often.

    Raises UserError for an unknown name or key, a value that is no number, and a file that cannot
    be imported or whose `build` returns no BatchPolicy.
    """
    kind, *pairs = text.split(":")
    parameters = dict(map(_parameter, pairs))
    module = _file(Path(kind)) if kind.endswith(".py") else _shipped(kind)
    try:
        policy = build_from(module, f"{_OPTION} {kind}", parameters)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{_OPTION} {kind}: build: {type(error).__name__}: {error}") from error
    if not isinstance(policy, BatchPolicy):
        raise UserError(f"{_OPTION} {kind}: build returned {policy!r}, expected a BatchPolicy")
    name = Path(kind).stem
    return ":".join([name, *pairs]), policy


def _parameter(pair: str) -> tuple[str, float]:
    key, _, value = pair.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{_OPTION}: {pair!r} given, expected key=number")
    return key, number


def _shipped(kind: str) -> ModuleType:
    return choose(
        policies.__name__,
        policies.__path__,
        _OPTION,
        kind,
        lambda module: module if hasattr(module, "build") else None,
    )


def _file(path: Path) -> ModuleType:
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None or not path.is_file():
        raise UserError(f"{_OPTION} {path}: no such file")
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        raise UserError(f"{_OPTION} {path}: {type(error).__name__}: {error}") from error
    if not hasattr(module, "build"):
        raise UserError(
            f"{_OPTION} {path}: no function build; expected `def build(*, key=1.0)` that returns a "
            "BatchPolicy (trimtab.batch.policies.base)"
        )
    return module
