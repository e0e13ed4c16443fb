"""`params.yaml`, which Snakemake and DVC read: a list of Hydra's overrides."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from trimtab.config.fields import ConfigError
from trimtab.config.limits import UnreadableFileError, yaml_values

_KEY = "overrides"
_EXAMPLE = "expected a list of texts, e.g. [experiment=full]"


def read_overrides(path: Path) -> list[str]:
    """Return the overrides in `params.yaml`, which Snakemake reads later, without any limit.

    Raises ConfigError for a file that grows, is none of YAML or has no list of overrides.
    """
    try:
        values = yaml_values(path)
    except UnreadableFileError as error:
        raise ConfigError(str(error)) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    return overrides_of(values if isinstance(values, dict) else {}, str(path))


def overrides_of(values: Mapping[Any, Any], place: str) -> list[str]:
    """Return the overrides among the `values` that `place` gives.

    Raises ConfigError unless they are texts that say one thing each, and for any other key.
    """
    for key, value in values.items():
        if key != _KEY:
            raise ConfigError(
                f"{place}: {key}: no such key, expected `{_KEY}` alone: "
                f"{_KEY}='[\"{key}={value}\"]'"
            )
    overrides = values.get(_KEY)
    if not isinstance(overrides, list):
        raise ConfigError(f"{place}: {_KEY}: {_EXAMPLE}")
    for number, override in enumerate(overrides):
        if not isinstance(override, str):
            raise ConfigError(f"{place}: {_KEY}[{number}]: {override!r} given, {_EXAMPLE}")
        _check_is_no_sweep(override, f"{place}: {_KEY}[{number}]")
    return overrides


def _check_is_no_sweep(override: str, place: str) -> None:
    """Raise ConfigError, with what to type instead, for an override that stands for several."""
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_override(override)
    except HydraException:
        return  # which is told with the files and keys that there are
    if not parsed.is_sweep_override():
        return
    try:
        values = list(parsed.sweep_string_iterator())
    except HydraException:
        values = ["VALUE"]
    one = f'echo "{_KEY}: [{parsed.key_or_group}=$value]" > params.yaml'
    run = f"{one} && dvc repro && git add -A && git commit -m $value"
    raise ConfigError(
        f"{place}: {override!r} given, expected one value, as the results of all have one place. "
        f"One after the other, each recorded: for value in {' '.join(values)}; do {run}; done"
    )
