"""The settings in the table of characterized runs: JSON texts, untrusted."""

import json
from collections.abc import Iterator
from typing import Any

import pandas as pd

from trimtab.errors import TrimtabError

KINDS = ("platform", "hyper")


def settings_of(runs: pd.DataFrame) -> "pd.Series[Any]":
    """Return the settings of each run of CHARACTERIZATION_RUNS as dictionaries.

    Raises TrimtabError, which names the workload and the repeat, unless they are a JSON object of
    strings, numbers and booleans with all parameters that the run varied.
    """
    read = [
        _checked(f"{workload}, repeat {repeat}", text, varied)
        for workload, repeat, text, varied in zip(
            runs["workload"], runs["repeat"], runs["settings"], runs["varied"], strict=True
        )
    ]
    return pd.Series(read, index=runs.index, dtype=object)


def varied_in(varied: str) -> list[str]:
    """Return the names of the parameters that a run varied."""
    return varied.split("+") if varied else []


def kinds_of(runs: pd.DataFrame) -> dict[str, str]:
    """Return the kind, platform or hyper, of each varied parameter, by name.

    Runs of phases with one kind decide. Raises TrimtabError for a name of both kinds.
    """
    kinds: dict[str, str] = {}
    for phase, name in _varied_by_kind(runs):
        if kinds.setdefault(name, phase) != phase:
            raise TrimtabError(
                f"parameter {name}: varied as {kinds[name]} and as {phase}; expected one kind"
            )
    return kinds


def _varied_by_kind(runs: pd.DataFrame) -> Iterator[tuple[str, str]]:
    phases = runs.loc[runs["phase"].isin(KINDS), ["phase", "varied"]].drop_duplicates()
    for phase, varied in phases.itertuples(index=False, name=None):
        yield from ((phase, name) for name in varied_in(varied))


def _checked(run: str, text: str, varied: str) -> dict[str, Any]:
    try:
        settings = json.loads(text)
    except (ValueError, RecursionError):
        settings = None
    if not isinstance(settings, dict) or any(
        isinstance(value, (dict, list)) for value in settings.values()
    ):
        raise TrimtabError(
            f"settings of a run of {run}: expected a JSON object of names and plain values; "
            "characterize again"
        )
    missing = [name for name in varied_in(varied) if name not in settings]
    if missing:
        raise TrimtabError(
            f"settings of a run of {run}: no {missing[0]!r}, which the run varied; "
            "characterize again"
        )
    return settings
