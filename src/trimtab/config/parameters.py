"""`params.yaml`, which Snakemake and DVC read: a list of Hydra's overrides."""

from pathlib import Path
from typing import Any

import yaml

from trimtab.config.fields import ConfigError
from trimtab.config.limits import UnreadableFileError, yaml_values

_EXAMPLE = "expected a list of texts, e.g. [experiment=full]"


def check_parameters(path: Path) -> None:
    """Raise ConfigError for a file that grows, is none of YAML or has no list of overrides.

    Snakemake reads it without any limit, so this comes first.
    """
    try:
        values = yaml_values(path)
    except UnreadableFileError as error:
        raise ConfigError(str(error)) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: not YAML: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    check_overrides(values.get("overrides") if isinstance(values, dict) else None, str(path))


def check_overrides(overrides: Any, place: str) -> list[str]:
    """Return `overrides`, which `place` gives; raises ConfigError unless they are texts."""
    if not isinstance(overrides, list):
        raise ConfigError(f"{place}: overrides: {_EXAMPLE}")
    for number, override in enumerate(overrides):
        if not isinstance(override, str):
            raise ConfigError(f"{place}: overrides[{number}]: {override!r} given, {_EXAMPLE}")
    return overrides
