"""A mistake in the configuration, in one line: which file and key, what was expected instead."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf.errors import InterpolationResolutionError, OmegaConfBaseException

from trimtab.config.fields import ConfigError, MistakeError
from trimtab.config.layers import ConfigLayers
from trimtab.config.limits import UnreadableFileError, yaml_values
from trimtab.config.repository import ESCAPED, MISTAKES
from trimtab.config.root import GROUPS
from trimtab.config.validate import nearest, steps_of


@contextmanager
def explained(layers: ConfigLayers) -> Iterator[None]:
    """Raise ConfigError for what goes wrong in the block, which composes or checks `layers`."""
    try:
        yield
    except (*MISTAKES, MistakeError) as error:
        raise ConfigError(explain(error, layers)) from None
    except RecursionError:
        problem = "lists of defaults that name each other, or values nested too deeply"
        raise ConfigError(f"{layers.conf}: {problem}") from None


def explain(error: Exception, layers: ConfigLayers) -> str:
    """Return the line that tells the user which file and key to correct, and how.

    `error` came from composing or checking what `layers` composed last.
    """
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"{mark.name}, line {mark.line + 1}: not YAML: {error.problem}"
    if isinstance(error, MissingConfigException):
        return _no_such_option(error, layers)
    if isinstance(error, UnreadableFileError):
        return str(error)
    if isinstance(error, OverrideParseException):
        return f"override {error.override!r}: not understood; expected key=value"
    if isinstance(error, MistakeError):
        return f"{place_of(error.key, layers)}: {error}"
    if isinstance(error, InterpolationResolutionError) and error.full_key:
        place = place_of(error.full_key, layers)
        return f"{place}: {error.full_key}: {str(error).splitlines()[0]}; {ESCAPED}"
    key = error.full_key if isinstance(error, OmegaConfBaseException) else None
    place = place_of(key, layers) if key else str(layers.conf)
    return f"{place}: {' '.join(str(error).split())}"


def place_of(key: str, layers: ConfigLayers) -> str:
    """Return what gave `key` its value: an override, or the last file merged that has it.

    Where none has, it is the file of the key's group in which it could stand.
    """
    for override in reversed(layers.overrides):
        overridden = override.lstrip("+~").partition("=")[0]
        inside = key.startswith((f"{overridden}.", f"{overridden}["))
        if overridden not in GROUPS and (key == overridden or inside):
            return f"override {override!r}"
    steps = steps_of(key)
    for layer in reversed(layers.merged):
        depth = len(layer.package)
        if tuple(steps[:depth]) == layer.package and _has(layer.path, steps[depth:]):
            return str(layer.path)
    for override in reversed(layers.overrides):
        if override.lstrip("+~").startswith(f"{key}."):  # no file has it
            return f"override {override!r}"
    of_group = [layer.path for layer in layers.merged if layer.package == (steps[0],)]
    return str(of_group[-1] if of_group else layers.file("config"))


def _has(path: Path, steps: list[str]) -> bool:
    """Whether the file says something of the key with these steps."""
    place: Any = yaml_values(path)
    for step in steps:
        if isinstance(place, dict) and step in place:
            place = place[step]
        elif isinstance(place, list) and step.isdigit() and int(step) < len(place):
            place = place[int(step)]
        else:
            return False
    return True


def _no_such_option(error: MissingConfigException, layers: ConfigLayers) -> str:
    missing = error.missing_cfg_file or "config"
    group, _, name = missing.rpartition("/")
    path, options = layers.file(missing), layers.options_of(group)
    hint = f"{nearest(name, options)}there are: {', '.join(options) or 'none'}"
    return f"{group or 'conf'}: {path} does not exist; {hint}"
