"""One real run of a task program: the duration of its tasks, and the energy."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from trimtab.config.groups.protection.protect import EnclaveKind
from trimtab.config.groups.workload import Marks
from trimtab.config.stages import ProtectStage
from trimtab.errors import TrimtabError
from trimtab.files import parse_json, read_limited
from trimtab.processes.program import Program
from trimtab.profiling.meters.base import EnergySource
from trimtab.profiling.profile import model_of
from trimtab.profiling.runs.measured import MeasuredRun, last_lines
from trimtab.profiling.runs.run import measure_run
from trimtab.records.tables import PROTECTED_RUNS
from trimtab.secure_tasks.protection.plan import SetUp
from trimtab.secure_tasks.protection.program import NativeProgram

# OpenMP chooses the scheduler.
_POLICY = "openmp"
# A program prints when its tasks begin and end, and last the line of JSON.
_MARKS = Marks(epoch=r"^(tasks (begin|end)$|\{)")
_TASKS = 1  # the epoch between the marks
_MOST_OUTPUT_BYTES = 1 << 16
_WATCH_S = 0.2
# Processor time has steps of some milliseconds, too coarse for joules of shorter runs.
_LEAST_ENERGY_S = 0.1
_WRONG_RESULT, _WRONG_USE = 1, 2  # exit codes: native/secure_tasks/options.h
_SAID = {"enclave_calls": "calls", "enclave_bytes": "bytes"}


def run_once(
    stage: ProtectStage, native: NativeProgram, set_up: SetUp, repeat: int, folder: Path
) -> dict[str, Any]:
    """Return a run's row of PROTECTED_RUNS; `folder` receives its output.

    A failed run, as on a machine without support for enclaves, is a row with its error. Raises
    TrimtabError where the program gives a wrong result, refuses its size, block or network, or
    prints unexpected lines.
    """
    program = Program(
        (*native.command(set_up, stage.enclaves), "--marks"),
        Path.cwd(),
        # Waiting threads leave the cores to threads in enclaves.
        {**os.environ, "OMP_WAIT_POLICY": "passive"},
        stage.protect.timeout_s,
        marks=_MARKS,
    )
    row: dict[str, Any] = dict.fromkeys(PROTECTED_RUNS.names)
    row |= {
        "task_program": stage.program.name,
        "hardware": stage.hardware.name,
        "variant": str(set_up.variant),
        "enclave": None if set_up.enclave is None else str(set_up.enclave),
        "costs": set_up.costs,
        "workers": set_up.workers,
        "size": set_up.size,
        "block": set_up.block,
        "schedule_policy": _POLICY,
        "repeat": repeat,
        "source": "modelled" if set_up.enclave == EnclaveKind.MODELLED else "measured",
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    run = measure_run(
        program,
        condition=str(set_up.variant),
        repeat=repeat,
        hardware=model_of(stage.hardware),
        sample_interval_s=_WATCH_S,
        log_dir=folder,
    )
    if run.failure is not None:
        return {**row, "complete": False, "error": _why(run, stage.program.name)}
    said = _said(run)
    energy = run.epochs.iloc[_TASKS]
    known = energy["energy_source"] != EnergySource.UNKNOWN and said["run_s"] >= _LEAST_ENERGY_S
    return {
        **row,
        "complete": True,
        "error": "",
        "protection": said["protection"],
        "tasks": said["tasks"],
        **{column: said[key] for column, key in _SAID.items()},
        "run_s": said["run_s"],
        "energy_j": float(energy["energy_j"]) if known else None,
        "energy_source": str(energy["energy_source"] if known else EnergySource.UNKNOWN),
    }


def _why(run: MeasuredRun, name: str) -> str:
    """Return why a run of the task program `name` failed, in its own words if it has any."""
    if run.exit_code == _WRONG_RESULT:
        raise TrimtabError(f"{run.failure}: the result is wrong")
    lines = last_lines(run.stderr)
    if run.exit_code == _WRONG_USE and lines:
        # The program printed its usage; no set-up of these sizes would run.
        raise TrimtabError(f"task program {name}: {lines[0]}; change its file")
    return lines[-1] if lines else str(run.failure)


def _said(run: MeasuredRun) -> dict[str, Any]:
    text = read_limited(run.stdout, _MOST_OUTPUT_BYTES).decode(errors="replace")
    try:
        said = parse_json(text.splitlines()[-1])
    except (ValueError, IndexError):
        raise TrimtabError(f"{run.stdout}: no line of JSON at its end; make native") from None
    wanted = {"run_s", "protection", "tasks", *_SAID.values()}
    if not isinstance(said, dict) or not wanted <= said.keys() or len(run.epochs) != _TASKS + 2:
        expected = f"marks of its tasks, and an object with {', '.join(sorted(wanted))}"
        raise TrimtabError(f"{run.stdout}: expected {expected}; make native")
    return said
