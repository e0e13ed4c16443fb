"""A mistake in the configuration, in one line: which file and key, what was expected instead."""

import dataclasses
import difflib
import re
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra.errors import MissingConfigException, OverrideParseException
from omegaconf.errors import (
    ConfigAttributeError,
    ConfigKeyError,
    GrammarParseError,
    InterpolationResolutionError,
    MissingMandatoryValue,
    OmegaConfBaseException,
)

from trimtab.config.fields import InvalidValueError
from trimtab.config.root import GROUPS, Root
from trimtab.errors import UserError

_WORDS = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
_DOLLAR = "write \\${ for a dollar sign and a brace"
_NOTHING_HERE = object()


class ConfigError(UserError):
    """A configuration file or an override is wrong; the message says where and how."""


def explain(
    error: Exception, conf: Path, overrides: Sequence[str], choices: Mapping[str, str]
) -> str:
    """Return the line that tells the user which file and key to correct, and how.

    `error` came from composing `conf` with `overrides`, where each group in `choices` is the
    option named there.
    """
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        mark = error.problem_mark
        return f"{mark.name}, line {mark.line + 1}: not YAML: {error.problem}"
    if isinstance(error, MissingConfigException):
        return _no_such_option(error, conf)
    if isinstance(error, UnicodeDecodeError):
        return f"{_not_text(conf)}: not UTF-8 text: {error.reason} at byte {error.start}"
    if isinstance(error, OverrideParseException):
        return f"override {error.override!r}: not understood; expected key=value"
    if isinstance(error, InvalidValueError):
        place = _place(error.key, conf, overrides, choices)
        return f"{place}: {error.key}: {error.given!r} given, expected {error.expected}"
    cause = error if isinstance(error, OmegaConfBaseException) else error.__cause__
    cause = cause or error.__context__
    if isinstance(cause, GrammarParseError):  # Hydra does not say which file it was reading
        return f"{conf}: {cause.full_key}: {str(cause).splitlines()[0]}; {_DOLLAR}"
    composed = re.match(r"In '(.+?)'", str(error))
    key = cause.full_key if isinstance(cause, OmegaConfBaseException) else None
    if composed:
        place = str(conf / f"{composed[1]}.yaml")
        key = key or _misfit(composed[1].rpartition("/")[0], place)
    elif key:
        place = _place(key, conf, overrides, choices)
    if key and isinstance(cause, OmegaConfBaseException):
        return f"{place}: {_wrong_key(cause, key, place)}"
    return f"{conf}: {' '.join(str(error).split())}"


def unknown(given: str, known: Iterable[str]) -> str:
    """Return the hint for a name that is none of `known`: the closest one, or all there are."""
    known = sorted(known)
    close = difflib.get_close_matches(given, known, n=1)
    hint = f"did you mean {close[0]}? " if close else ""
    return f"{hint}there are: {', '.join(known) or 'none'}"


def _no_such_option(error: MissingConfigException, conf: Path) -> str:
    group, _, name = (error.missing_cfg_file or "config").rpartition("/")
    path = conf / group / f"{name}.yaml"
    options = (file.stem for file in (conf / group).glob("*.yaml"))
    return f"{group or 'conf'}: {path} does not exist; {unknown(name, options)}"


def _wrong_key(error: OmegaConfBaseException, key: str, place: str) -> str:
    parent, _, name = key.rpartition(".")
    if isinstance(error, MissingMandatoryValue):
        return f"{key}: missing, expected {_expected(key)}"
    if isinstance(error, ConfigKeyError | ConfigAttributeError):
        kind = _kind(parent)
        if not dataclasses.is_dataclass(kind):
            return f"{key}: not there; add it with +{key}=VALUE"
        known = [spec.name for spec in dataclasses.fields(kind)]
        return f"{key}: unknown key; {unknown(name, known)}"
    if isinstance(error, InterpolationResolutionError):
        return f"{key}: {str(error).splitlines()[0]}; {_DOLLAR}"
    given = _given(key, place)
    shown = "" if given is _NOTHING_HERE else f"{given!r} given, "
    return f"{key}: {shown}expected {_expected(key)}"


def _place(key: str, conf: Path, overrides: Sequence[str], choices: Mapping[str, str]) -> str:
    """Return what gave `key` its value: an override, the experiment's file or the group's."""
    for override in reversed(overrides):
        overridden = override.lstrip("+~").partition("=")[0]
        inside = key.startswith((f"{overridden}.", f"{overridden}["))
        if overridden not in GROUPS and (key == overridden or inside):
            return f"override {override!r}"
    group = key.partition(".")[0]
    experiment = conf / "experiment" / f"{choices.get('experiment')}.yaml"
    if group not in GROUPS or _given(key, str(experiment)) is not _NOTHING_HERE:
        candidates = [experiment, conf / "config.yaml"]
        found = (path for path in candidates if _given(key, str(path)) is not _NOTHING_HERE)
        return str(next(found, candidates[-1]))
    return str(conf / group / f"{choices[group]}.yaml" if group in choices else conf)


def _given(key: str, place: str) -> Any:
    """Return what the file at `place` says for `key`, whether it starts at its group or above."""
    try:
        document = yaml.safe_load(Path(place).read_text())
    except (OSError, yaml.YAMLError):
        return _NOTHING_HERE
    group, *steps = re.findall(r"[^.\[\]]+", key)
    for path in ([group, *steps], steps):
        found = document
        for step in path:
            if isinstance(found, dict) and step in found:
                found = found[step]
            elif isinstance(found, list) and step.isdigit() and int(step) < len(found):
                found = found[int(step)]
            else:
                break
        else:
            return found
    return _NOTHING_HERE


def _misfit(group: str, place: str) -> str | None:
    """Return the first key of the file whose value has another shape than the dataclasses say."""
    waiting = [group] if group else [spec.name for spec in dataclasses.fields(Root)]
    while waiting:
        key = waiting.pop(0)
        given, kind = _given(key, place), _kind(key)
        mapping = dataclasses.is_dataclass(kind) or typing.get_origin(kind) is dict
        if given is not _NOTHING_HERE and isinstance(given, dict) != mapping:
            return key
        if isinstance(given, dict):
            waiting += [f"{key}.{name}" for name in given]
    return None


def _not_text(conf: Path) -> Path:
    """Return the first file of `conf` that is not UTF-8."""
    for path in sorted(conf.rglob("*.yaml")):
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return path
    return conf


def _kind(key: str) -> Any:
    """Return the type that the dataclasses give to `key`, or None where they know no such key."""
    kind: Any = Root
    for step in re.findall(r"[^.\[\]]+", key):
        kind = _without_none(kind)
        if dataclasses.is_dataclass(kind):
            kind = typing.get_type_hints(kind).get(step)
        else:
            kind = (typing.get_args(kind) or (None,))[-1]
    return _without_none(kind)


def _without_none(kind: Any) -> Any:
    if isinstance(kind, types.UnionType):
        return next(member for member in typing.get_args(kind) if member is not type(None))
    return kind


def _expected(key: str) -> str:
    kind = _kind(key)
    if dataclasses.is_dataclass(kind):
        return f"the keys {', '.join(spec.name for spec in dataclasses.fields(kind))}"
    return words(kind)


def words(kind: Any) -> str:
    """Return a type as a person would say it, e.g. `a list of texts`."""
    kind = _without_none(kind)
    members = typing.get_args(kind)
    if typing.get_origin(kind) is list:
        return f"a list, each item {words(members[0])}"
    if typing.get_origin(kind) is dict:
        return f"a mapping, each value {words(members[1])}"
    return _WORDS.get(kind, "another value")
