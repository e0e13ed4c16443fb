"""`trimtab trace`: what a program uses."""

from rich.text import Text

from trimtab.cli import program_options as given
from trimtab.cli.alone import alone_in
from trimtab.cli.debloat_options import Runs
from trimtab.cli.steps import WORKSPACE, WorkspaceOption, console, traced
from trimtab.cli.terminal import say_path


@alone_in("folder")
def trace(
    command: given.Command,
    folder: WorkspaceOption = WORKSPACE,
    python: given.Python = None,
    target: given.Target = None,
    runs: Runs = 3,
    output: given.Output = None,
    compare: given.Compare = None,
    relative_tolerance: given.RelativeTolerance = 0.0,
    absolute_tolerance: given.AbsoluteTolerance = 0.0,
    compare_command: given.CompareCommand = None,
    ends_with: given.EndsWith = None,
    timeout_s: given.TimeoutS = 3600.0,
    drive: given.Drive = None,
    ready: given.Ready = None,
    address: given.Address = None,
    stop: given.Stop = "SIGTERM",
    user: given.User = None,
) -> None:
    """Run COMMAND and record the files, libraries and functions that it uses."""
    program = given.ProgramOptions(
        python=python, target=target, output=output, compare=compare,
        relative_tolerance=relative_tolerance, absolute_tolerance=absolute_tolerance,
        compare_command=compare_command, ends_with=ends_with, timeout_s=timeout_s,
        drive=drive, ready=ready, address=address, stop=stop, user=user,
    )  # fmt: skip
    usage = traced(folder, command, program, runs)
    used = sum(library.functions_used for library in usage.libraries)
    total = sum(library.functions_total for library in usage.libraries)
    console.print(
        f"{len(usage.libraries)} libraries, {used:,} of {total:,} functions,"
        f" {len(usage.files)} files used by {len(usage.processes)} processes"
    )
    if usage.kernels_traced:
        kernels = {name for module in usage.modules for name in module.kernels}
        console.print(f"{len(kernels):,} kernels of {len(usage.modules)} GPU modules used")
    elif usage.kernels_not_traced_because:
        console.print(f"kernels not traced: {usage.kernels_not_traced_because}")
    for reason in usage.incomplete_because:
        console.print(Text("incomplete:", "bold red"), reason, soft_wrap=True)
    say_path(folder / "usage.json")
