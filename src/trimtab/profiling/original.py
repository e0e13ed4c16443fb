"""How a program behaves where nothing was changed: how it ends, and what of it can be compared."""

import shutil
import signal
from dataclasses import replace
from pathlib import Path

from trimtab.config.groups.workload import Workload
from trimtab.profiling.meters.power_model import NO_POWER_MODEL
from trimtab.profiling.runs.comparable import check_steady, remark_on, strongest
from trimtab.profiling.runs.from_workload import program_of
from trimtab.profiling.runs.measured import MeasuredRun, check_run, last_lines
from trimtab.profiling.runs.program import Program, ended
from trimtab.profiling.runs.run import measure_run


def as_it_runs(workload: Workload, folder: Path, choose: bool) -> tuple[Workload, list[str]]:
    """Run `workload` twice as it is; return it with what the runs told, and remarks on that.

    Its `ends_with` becomes how the first run ended. With `choose` its output is compared in the
    strictest way by which both are equal. Logs stay in `folder`.

    Raises UserError when a run does not end well, or the second not as the first did; and without
    `choose` when their outputs are not equal as the workload has them compared.
    """
    shutil.rmtree(folder, ignore_errors=True)
    program = program_of(workload, folder / "output")
    first = _run(program, 0, folder)
    program = program.ending_as(first.exit_code)
    again = _run(program, 1, folder)
    assert first.output is not None and again.output is not None  # both ended well
    stopped = workload.server.drive and _end(first.exit_code) == workload.server.stop
    remarks = [] if workload.ends_with or stopped else _remark_on_end(first)
    if choose:
        output = strongest(first.output, again.output, workload.output.path)
        if output.compare != workload.output.compare:
            remarks.append(remark_on(first.output, output))
    else:
        output = workload.output
        check_steady(program, first, again)
    return replace(workload, output=output, ends_with=_end(first.exit_code)), remarks


def _run(program: Program, repeat: int, folder: Path) -> MeasuredRun:
    return check_run(
        measure_run(
            program, condition="original", repeat=repeat, hardware=NO_POWER_MODEL, log_dir=folder
        ),
        program.command,
    )


def _remark_on_end(run: MeasuredRun) -> list[str]:
    if run.exit_code == 0:
        return []
    said = f" after {last_lines(run.stderr)[-1]!r}" if last_lines(run.stderr) else ""
    return [
        f"the program as it is {ended(run.exit_code)}{said}: every run has to end so;"
        " --ends-with 0 refuses it"
    ]


def _end(exit_code: int) -> str:
    return str(exit_code) if exit_code >= 0 else signal.Signals(-exit_code).name
