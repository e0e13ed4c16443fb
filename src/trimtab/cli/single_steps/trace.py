"""`trimtab advanced trace`: records what a program uses."""

from rich.text import Text

from trimtab.cli.config_options.group import option_groups
from trimtab.cli.config_options.run_counts import OF_TRACE, RunCounts
from trimtab.cli.output.console import console
from trimtab.cli.program_options import PROGRAM, Command, ProgramOptions
from trimtab.cli.steps import WORKSPACE, WorkspaceOption, traced
from trimtab.cli.workspace_lock import alone_in


@alone_in("folder")
@option_groups(program=PROGRAM, counts=OF_TRACE)
def trace(
    command: Command,
    program: ProgramOptions,
    counts: RunCounts,
    folder: WorkspaceOption = WORKSPACE,
) -> None:
    """Run COMMAND and record the files, libraries and functions that it uses."""
    usage = traced(folder, command, program, counts.profiling.traced_runs)
    used = sum(library.functions_used for library in usage.libraries)
    total = sum(library.functions_total for library in usage.libraries)
    processes = len(usage.processes)
    console.notes.print(
        f"{len(usage.libraries)} libraries, {used:,} of {total:,} functions, {len(usage.files)}"
        f" files used by {processes} process{'' if processes == 1 else 'es'}",
        soft_wrap=True,
    )
    if usage.kernels_traced:
        kernels = {name for module in usage.modules for name in module.kernels}
        console.notes.print(f"{len(kernels):,} kernels of {len(usage.modules)} GPU modules used")
    elif usage.kernels_not_traced_because:
        why = usage.kernels_not_traced_because
        console.notes.print(f"kernels not traced: {why}", soft_wrap=True)
    for reason in usage.incomplete_because:
        console.notes.print(Text("incomplete:", "bold red"), reason, soft_wrap=True)
    console.path(folder / "usage.json")
    console.result(
        {
            "usage": folder / "usage.json",
            "complete": usage.complete,
            "incomplete_because": usage.incomplete_because,
            "notes": usage.notes,
            "libraries": len(usage.libraries),
            "functions_used": used,
            "functions_total": total,
            "files": len(usage.files),
            "processes": len(usage.processes),
            "kernels_traced": usage.kernels_traced,
            "kernels": len({name for module in usage.modules for name in module.kernels}),
            "gpu_modules": len(usage.modules),
            "trace_s": usage.trace_s,
        }
    )
