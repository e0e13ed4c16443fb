"""Smaller search spaces: within a machine's share, or around an earlier search's result."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from trimtab.config.groups.tuning import Kind, Tuning
from trimtab.config.parameter import Parameter
from trimtab.errors import UserError


def within_cores(tuning: Tuning, kind: Kind, cores: int) -> Tuning:
    """Return `tuning` with at most `cores` cores in the parameters of a kind.

    Forbidden sets that can no longer occur are left out. Raises UserError where the least number of
    cores is larger.
    """
    return _within(tuning, kind, "cores", cores)


def within_gpus(tuning: Tuning, gpus: int) -> Tuning:
    """Return `tuning` with at most `gpus` GPUs for training; as `within_cores`."""
    return _within(tuning, Kind.SYSTEM, "gpus", gpus)


def _within(tuning: Tuning, kind: Kind, what: str, most: int) -> Tuning:
    own = tuning.of_kind(kind)
    if what not in own:
        return tuning
    name = f"{kind}.{what}"
    fewer = _up_to(own[what], most, name)
    forbidden = [
        values for values in tuning.forbidden if name not in values or fewer.takes(values[name])
    ]
    narrower: dict[str, Any] = {kind.value: {**own, what: fewer}}
    return replace(tuning, forbidden=forbidden, **narrower)


def at_defaults(tuning: Tuning, names: Collection[str]) -> Tuning:
    """Return `tuning` with the parameters of these full names fixed at their defaults."""
    kinds: dict[str, Any] = {
        kind.value: {
            name: _at_default(one) if f"{kind}.{name}" in names else one
            for name, one in tuning.of_kind(kind).items()
        }
        for kind in Kind
    }
    return replace(tuning, **kinds)


def with_defaults(tuning: Tuning, configuration: Mapping[str, Any]) -> Tuning:
    """Return `tuning` with a configuration's values as the defaults."""
    kinds: dict[str, Any] = {
        kind.value: {
            name: replace(one, default=configuration.get(f"{kind}.{name}", one.default))
            for name, one in tuning.of_kind(kind).items()
        }
        for kind in Kind
    }
    return replace(tuning, **kinds)


def _at_default(parameter: Parameter) -> Parameter:
    default = parameter.default
    return replace(parameter, choices=[default], low=None, high=None, log=False, whole=False)


def _up_to(parameter: Parameter, most: int, name: str) -> Parameter:
    if parameter.choices is not None:
        left = [value for value in parameter.choices if value <= most]
        least = min(parameter.choices)
        if left:
            default = parameter.default if parameter.default in left else max(left)
            return replace(parameter, choices=left, default=default)
    else:
        assert parameter.low is not None and parameter.high is not None
        least = parameter.low
        if least <= most:
            high = min(parameter.high, most)
            return replace(parameter, high=high, default=min(parameter.default, most))
    raise UserError(f"tuning.{name}: at least {least:g} given, but there are only {most} for it")
