"""An image made slim, and what is measured of it."""

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
from cases import Case
from commands import docker, run
from methods import side_by_side
from running import Runs

TRIMTAB = (sys.executable, "-c", "from trimtab.cli.main import main; main()")
_COUNTS = ("file_bytes", "layer_bytes", "compressed_bytes", "files", "executables")
_LISTS = ("setuid", "shells", "interpreters")
# A container that may write nowhere but in its volume, and to memory.
_READ_ONLY = ("--read-only", "--tmpfs", "/tmp")


def measured(address: str, case: Case, image: str, folder: Path) -> dict[str, Any]:
    """Slim, run and compare `image`, in the new folder `folder`."""
    environment = {**os.environ, "DOCKER_HOST": address, "XDG_CACHE_HOME": str(folder / "cache")}
    workspace = folder / "ws"
    words = ["image", "slim", image, "--runs", "2", "--settle", "2", "--workspace", str(workspace)]
    words += ["--user", case.user] if case.user else []
    if case.port is not None:
        words += ["--drive", " ".join(case.drive()), "--address", f"127.0.0.1:{case.port}"]
    began_s, cpu_s = time.perf_counter(), _cpu_s()
    run([*TRIMTAB, *words, "--", *case.command], env=environment, cwd=folder, timeout=1500)
    figures: dict[str, Any] = {
        "base": str(case.base),
        "slim_s": time.perf_counter() - began_s,
        "slim_cpu_s": _cpu_s() - cpu_s,
    }
    slim, both = f"{image.rpartition(':')[0]}:slim", folder / "both.json"
    words = ["image", "compare", image, slim, "--output", str(both)]
    run([*TRIMTAB, *words], env=environment, cwd=folder)
    compared = json.loads(both.read_text())
    for side in ("before", "after"):
        figures[side] = {key: compared[side][key] for key in _COUNTS}
        figures[side] |= {key: len(compared[side][key]) for key in _LISTS}
    [table] = workspace.glob("**/files.parquet")
    files = pd.read_parquet(table)
    figures["packages"] = _packages(files)
    expected = {
        held_out: Runs(address, case).output(image, held_out)
        for held_out in ((False, True) if case.held_out or case.port else (False,))
    }
    figures["runs"] = _verdicts(Runs(address, case, workspace / "store"), slim, expected)
    figures["methods"] = side_by_side(address, case, image, expected, folder)
    docker(address, "rmi", slim)
    return figures


def _verdicts(runs: Runs, slim: str, expected: dict[bool, str]) -> dict[str, str]:
    """Return whether outputs are equal, by what was run and whether anything may come back."""
    strict = ("--env", "TRIMTAB_FALLBACK=strict")
    verdicts = {}
    for held_out, output in expected.items():
        what = "held_out" if held_out else "traced"
        verdicts[what] = runs.verdict(slim, output, held_out)
        verdicts[f"{what}_strict"] = runs.verdict(slim, output, held_out, *strict)
    if runs.case.volume:
        verdicts["read_only"] = runs.verdict(slim, expected[False], False, *_READ_ONLY)
    return verdicts


def _packages(files: pd.DataFrame) -> dict[str, int]:
    """Return how many packages have files, and how many of these none that stays."""
    files = files[(files["type"] == "file") & (files["package"] != "")]
    stays = files.groupby("package")["kept"].any()
    return {"all": len(stays), "none_stays": int((~stays).sum())}


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
