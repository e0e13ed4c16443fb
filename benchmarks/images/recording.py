"""Figures of cases, written after each one: what fails later keeps them."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from commands import CommandError
from common import load, machine, save


@contextmanager
def recorded(results: str, name: str) -> Iterator[dict[str, Any]]:
    """Put the figures of the case `name` into benchmarks/results/RESULTS.json.

    A command that fails within, or takes too long, is recorded as the case's error.
    """
    figures: dict[str, Any] = {}
    try:
        yield figures
    except (CommandError, subprocess.TimeoutExpired) as error:
        figures.clear()
        figures["error"] = re.sub(r"\s+", " ", str(error))[-600:]
    print(name, json.dumps(figures), flush=True)
    figures |= {"machine": machine(), "date": f"{datetime.now(UTC):%Y-%m-%d}"}
    others: Any = load(results) or {"cases": {}}
    save(results, {"cases": {**others["cases"], name: figures}})
