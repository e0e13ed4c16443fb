"""`trimtab debloat`: a slim environment for a program."""

from typing import Annotated

import typer

from trimtab.cli import workspace
from trimtab.cli.config_options.debloat import DEBLOAT, Gpus
from trimtab.cli.config_options.group import option_groups
from trimtab.cli.config_options.run_counts import OF_DEBLOAT, RunCounts
from trimtab.cli.environment.snapshot import save_start
from trimtab.cli.output.console import console
from trimtab.cli.program_options import PROGRAM, ProgramOptions
from trimtab.cli.result_lines import say_result
from trimtab.cli.steps import WORKSPACE, WorkspaceOption, slimmed, traced
from trimtab.cli.workspace_lock import alone_in
from trimtab.config.groups.debloat import Debloat, Fallback, Gpu, Mode, Start
from trimtab.errors import UserError
from trimtab.evaluation.outcome.read import outcome_in

MaybeCommand = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- COMMAND", help="The program; without one only GPU code goes, by architecture."
    ),
]


@alone_in("folder")
@option_groups(program=PROGRAM, options=DEBLOAT, counts=OF_DEBLOAT)
def debloat(
    program: ProgramOptions,
    options: Debloat,
    counts: RunCounts,
    command: MaybeCommand = None,
    folder: WorkspaceOption = WORKSPACE,
    gpus: Gpus = None,
) -> None:
    """Trace COMMAND, then make its slim environment: WORKSPACE/env/bin/python runs it.

    It is run and made again until it misses nothing, --settle times in a row.

    Without COMMAND nothing is run: with --python ENV/bin/python --gpu architecture --for 9.0 all
    GPU code leaves the environment that GPUs of compute capability 9.0 cannot load.
    """
    if command:
        traced(folder, command, program, counts.profiling.traced_runs, options.keep_libraries)
    elif options.gpu == Gpu.ARCHITECTURE and (program.python or program.target):
        workspace.list_libraries(folder, program)
    else:
        raise UserError(
            "give the program after --, as in `trimtab debloat -- python program.py`; or"
            " --gpu architecture and --python or --target"
        )
    step = "making and settling the slim environment"
    settling = slimmed(folder, options, gpus, counts.settle.clean_runs, step)
    if options.mode == Mode.PUNCH and options.fallback != Fallback.NONE:
        console.notes.print("no fallback with mode punch: a call into removed code is a crash")
    say_result(folder, settling)
    if options.start == Start.SNAPSHOT:
        save_start(folder)
    console.path(folder / "env")
    console.result(outcome_in(folder).to_json())
