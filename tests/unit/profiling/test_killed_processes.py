"""Processes that are killed: what they had used counts, unless tracing is what killed them."""

import sys
from pathlib import Path

import pytest

from trimtab.config.groups.workload import ServerConfig, Workload
from trimtab.profiling.profile import trace_workload
from trimtab.records.usage import Usage

KILLS = """
import os, signal, sys
kills = {only_if}
ready, done = os.pipe()
worker = os.fork()
if not worker:
    import _json, json
    json.loads("[1]")
    os.write(done, b"x")
    if kills:
        signal.pause()
    os._exit(0)
os.read(ready, 1)
if kills:
    os.kill(worker, {number})
os.wait()
"""


def trace(folder: Path, only_if: str, number: int = 9, runs: int = 1) -> Usage:
    code = KILLS.format(only_if=only_if, number=number)
    mine = Workload("mine", ["python", "-c", code], python=sys.executable, workdir=str(folder))
    return trace_workload(mine, folder / "runs", runs)


@pytest.mark.parametrize("number", [9, 15])
def test_what_a_killed_worker_had_used_counts(tmp_path: Path, number: int) -> None:
    usage = trace(tmp_path, "True", number)
    assert usage.complete and usage.notes[0].startswith("killed before their exit: 1 processes of")
    [extension] = [each for each in usage.libraries if "/_json." in each.path]
    assert extension.functions_used > 0


def test_one_that_is_killed_only_when_its_functions_are_traced_makes_it_incomplete(
    tmp_path: Path,
) -> None:
    usage = trace(tmp_path, "'LD_AUDIT' in os.environ")
    assert not usage.complete
    assert "was killed while its functions were traced, and only then" in str(
        usage.incomplete_because
    )


def test_one_that_is_killed_in_one_traced_run_of_two_does_not(tmp_path: Path) -> None:
    first = "'LD_AUDIT' in os.environ and not (os.path.exists('ran') or os.mkdir('ran'))"
    usage = trace(tmp_path, first, runs=2)
    assert usage.complete and usage.notes[0].startswith("killed before their exit: 1 processes of")


def test_what_we_end_ourselves_is_none_that_was_killed(tmp_path: Path) -> None:
    """A server and its worker, by the stop signal; both die by it, as neither handles it."""
    code = (
        "import os, signal\nworker = os.fork()\n"
        "if worker: print('ready', flush=True)\n"
        "signal.pause()\n"
    )
    server = ServerConfig(drive=["true"], ready="^ready")
    mine = Workload(
        "mine", ["python", "-c", code], python=sys.executable, workdir=str(tmp_path), server=server
    )
    usage = trace_workload(mine, tmp_path / "runs", 2)
    assert not [note for note in usage.notes if "killed before" in note]
