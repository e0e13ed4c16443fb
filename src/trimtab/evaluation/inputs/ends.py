"""Verdicts of older versions: none passes where a program failed unexpectedly."""

from pathlib import Path
from typing import Any, TypeVar

from trimtab.config.signals import signal_number
from trimtab.errors import TrimtabError
from trimtab.files import parse_json, read_limited
from trimtab.records.manifest import Manifest
from trimtab.records.parquet.files import read_table
from trimtab.records.tables import RUNS
from trimtab.records.usage import Usage
from trimtab.records.verdict import Verdict

_MOST_BYTES = 1 << 24  # most bytes of a stage.json


V = TypeVar("V", Verdict, Verdict | None)


def judged(folder: Path, verdict: V) -> V | Verdict:
    """Return the verdict on the results in `folder`, failed where a run ended unexpectedly.

    A folder with `usage.json` is a workspace, whose notes have the ends. In results of an
    experiment, a workload without `ends_with` has to end with 0, or a server with its stop signal.
    """
    found = _unasked_end(folder)
    if found is None or (verdict is not None and not verdict.passed):
        return verdict
    workload, how = found
    problem = f"{how}; if that is right, debloat it again with `--ends-with` or `ends_with`"
    if verdict is None:
        manifest = Manifest.read(folder / "manifest.json")
        return Verdict(
            target=manifest.target, hardware=manifest.hardware,
            passed=False, failed_workload=workload, problem=problem,
        )  # fmt: skip
    changes = {"passed": False, "failed_workload": workload, "problem": problem}
    return verdict.model_copy(update=changes)


def _unasked_end(folder: Path) -> tuple[str, str] | None:
    """Return the workload and how its runs failed, or None where all ended as expected."""
    if (folder / "usage.json").is_file():
        usage = Usage.read(folder / "usage.json")
        end = usage.unasked_end.rpartition(": ")[0]
        return (usage.workload, end) if end else None
    stage, runs = folder / "stage.json", folder / "verify_runs.parquet"
    if not stage.is_file() or not runs.is_file():
        return None
    ends = read_table(runs, RUNS)[["workload", "exit_code"]].drop_duplicates()
    try:
        workloads = parse_json(read_limited(stage, _MOST_BYTES))["workloads"]
        usual = {each["name"]: _usual(each) for each in workloads if each["ends_with"] is None}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise TrimtabError(f"{stage}: not the stage of an environment; debloat it again") from None
    for name, exit_code in ends.itertuples(index=False):
        if exit_code not in usual.get(name, {exit_code}):
            how = f"with exit code {exit_code}" if exit_code >= 0 else f"by signal {-exit_code}"
            return name, f"it ended {how}"
    return None


def _usual(workload: dict[str, Any]) -> set[int]:
    server = workload["server"]
    stop = signal_number(server.get("stop", "SIGTERM")) or 0
    return {0, -stop} if server.get("drive") else {0}
