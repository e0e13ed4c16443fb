"""The card of a deployment: how to run it, and what was measured where."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trimtab.config.groups.workload import Workload
from trimtab.tuning.system.machine import cpu_model, installed_memory_gib

_NO_PART_OF_THE_CARD = ("parameters", "system", "not_set", "energy_source", "scores")
_UNITS = {"s": "s", "j": "J"}


def card_of(
    workload: Workload,
    parameters: Mapping[str, Any],
    result: Mapping[str, Any],
    requirements: Sequence[str] | None,
) -> str:
    """Return the page in Markdown; without `requirements` the program is no Python."""
    lines = [f"# {_title(workload)}, tuned", "", "    sh run.sh", ""]
    if requirements is not None:
        lines[2:2] = [
            "    python3 -m venv env && env/bin/pip install -r requirements.txt", "",
            "These are the versions that were tuned. A `slim/env` comes first, where there is one.",
            "",
        ]  # fmt: skip
    lines += [
        "Start it where the program finds its data. `trimtab_trial.py` does nothing outside a",
        "search. `run.sh` sets threads and, where `taskset` exists, CPUs.", "",
        *_table("parameter", parameters), *_table("set-up", result.get("system", {})),
    ]  # fmt: skip
    measured = {
        name: _quantity(name, value)
        for name, value in {**result, **result.get("scores", {})}.items()
        if name not in _NO_PART_OF_THE_CARD
    }
    if "training_j" in measured:
        measured["training_j"] += f" ({result.get('energy_source')})"
    lines += _table("measured", measured)
    if not_set := result.get("not_set"):
        lines += [f"- not in effect: `{name}`: {why}" for name, why in not_set.items()] + [""]
    return "\n".join(
        [
            *lines,
            f"Measured once, in the best trial, on {os.cpu_count()} CPUs ({cpu_model()}),"
            f" {installed_memory_gib():.0f} GiB. The score chose this trial: expect a little less"
            " on other data.",
            "",
        ]
    )


def _title(workload: Workload) -> str:
    """Return the name of the program: its script, if it has one."""
    scripts = [word for word in workload.command if word.endswith((".py", ".sh"))]
    return Path(scripts[0] if scripts else workload.command[0]).name


def _table(head: str, rows: Mapping[str, Any]) -> list[str]:
    if not rows:
        return []
    return [
        f"| {head} | |", "|---|---|", *(f"| `{name}` | {value} |" for name, value in rows.items()),
        "",
    ]  # fmt: skip


def _quantity(name: str, value: Any) -> str:
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    _, _, unit = name.rpartition("_")
    return f"{shown} {_UNITS[unit]}" if unit in _UNITS else shown
