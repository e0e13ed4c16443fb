"""`trimtab ...`: one step at a time, on a command of your own, without a YAML."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from trimtab.cli import schedule as queue_cli
from trimtab.cli import workspace
from trimtab.cli.doctor import examine
from trimtab.config.fields import MistakeError
from trimtab.config.groups.debloat import Debloat
from trimtab.config.validate import checked
from trimtab.errors import TrimtabError, UserError

app = typer.Typer(
    help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
app.add_typer(queue_cli.schedule, name="schedule")
app.command()(queue_cli.probe)
console = Console(stderr=True)

Command = Annotated[
    list[str], typer.Argument(metavar="-- COMMAND", help="The program, as you run it.")
]
MaybeCommand = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- COMMAND", help="The program; without one only GPU code goes, by architecture."
    ),
]
Folder = Annotated[
    Path, typer.Option("--workspace", help="Where the results of all steps are kept.")
]
Python = Annotated[
    Path | None,
    typer.Option(help="The interpreter whose environment is debloated; by default the command's."),
]
Mode = Annotated[str, typer.Option(help="zero, punch or compact.")]
Symbols = Annotated[str, typer.Option(help="strip or keep symbol tables.")]
Gpu = Annotated[
    str, typer.Option(help="GPU code that stays: used, architecture (what a GPU can load) or keep.")
]
Kernels = Annotated[
    str, typer.Option(help="keep or prune unused kernels beside used ones in a module.")
]
StartUpOnly = Annotated[
    str,
    typer.Option(
        help="Libraries of which nothing but start-up code ran: keep that code, or remove all code."
    ),
]
For = Annotated[
    list[str] | None,
    typer.Option("--for", help="Compute capability to keep GPU code for, as 9.0; by default this"
                 " machine's GPUs."),
]  # fmt: skip
Share = Annotated[str, typer.Option(help="reflink, copy or hardlink unchanged files.")]
Fallback = Annotated[
    str,
    typer.Option(
        help="Where the code of removed functions is found when one is called: original (in the"
        " original environment), packed (in the slim one) or none."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(help="A file the program writes, to be compared; by default standard output."),
]
Runs = Annotated[
    int,
    typer.Option("--runs", min=1, help="Traced runs; all that any of them used is kept."),
]
WORKSPACE = Path("trimtab_workspace")


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )


def _options(**options: Any) -> Debloat:
    try:
        return checked({"name": "command_line", **options}, Debloat)
    except MistakeError as error:
        raise UserError(f"--{error}") from None


@app.command()
def trace(
    command: Command,
    folder: Folder = WORKSPACE,
    python: Python = None,
    output: Output = None,
    runs: Runs = 3,
) -> None:
    """Run COMMAND and record the files, libraries and functions that it uses."""
    with console.status(f"tracing, {runs + 1} runs of the program"):
        usage = workspace.trace(folder, command, python, output, runs)
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
        console.print(f"[bold red]incomplete:[/] {reason}")
    print(folder / "usage.json")


@app.command()
def locate(
    folder: Folder = WORKSPACE,
    symbols: Symbols = "strip",
    gpu: Gpu = "used",
    start_up_only: StartUpOnly = "keep",
    gpus: For = None,
) -> None:
    """Write which spans of each traced library are kept and removed, and why."""
    with _progress() as progress:
        task = progress.add_task("locating", total=None)
        spans = workspace.locate(
            folder,
            _options(symbols=symbols, gpu=gpu, start_up_only=start_up_only),
            gpus or [],
            lambda name, done, total: progress.update(task, completed=done, total=total),
        )
    print(spans)


@app.command()
def debloat(
    command: MaybeCommand = None,
    folder: Folder = WORKSPACE,
    python: Python = None,
    output: Output = None,
    runs: Runs = 3,
    mode: Mode = "compact",
    symbols: Symbols = "strip",
    gpu: Gpu = "used",
    kernels: Kernels = "keep",
    start_up_only: StartUpOnly = "keep",
    gpus: For = None,
    share: Share = "reflink",
    fallback: Fallback = "original",
) -> None:
    """Trace COMMAND, then make its slim environment: WORKSPACE/env/bin/python runs it.

    Without COMMAND nothing is run: with --python ENV/bin/python --gpu architecture --for 9.0 all
    GPU code leaves the environment that GPUs of compute capability 9.0 cannot load.
    """
    options = _options(
        mode=mode, symbols=symbols, gpu=gpu, kernels=kernels, start_up_only=start_up_only,
        share=share, fallback=fallback,
    )  # fmt: skip
    if command:
        with console.status(f"tracing, {runs + 1} runs of the program"):
            workspace.trace(folder, command, python, output, runs)
    elif gpu == "architecture" and python is not None:
        workspace.list_libraries(folder, python)
    else:
        raise UserError("give the program after --, or --gpu architecture and --python")
    with _progress() as progress:
        task = progress.add_task("libraries", total=None)
        libraries = workspace.debloat(
            folder,
            options,
            gpus or [],
            lambda name, done, total: progress.update(task, completed=done, total=total),
        )
    with console.status("copying the environment"):
        environment = workspace.build(folder, options)
    if mode == "punch" and fallback != "none":
        console.print("no fallback with mode punch: a call into removed code is a crash")
    table = Table("library", "before", "after", "less")
    sizes = libraries.set_index("library")[["size_before_bytes", "size_after_bytes"]]
    largest = sizes.nlargest(10, "size_before_bytes")
    largest.loc[f"all {len(sizes)}"] = sizes.sum()
    for library, (before, after) in zip(largest.index, largest.to_numpy(), strict=True):
        table.add_row(str(library), _mb(before), _mb(after), f"{1 - after / before:.0%}")
    console.print(table)
    print(environment)


def _mb(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"


@app.command()
def reconstruct(
    span_path: Annotated[Path, typer.Option(help="A spans/LIBRARY.json.")],
    output_dir: Annotated[Path, typer.Option(help="Where the library is written.")],
    mode: Mode = "zero",
) -> None:
    """Rebuild one library from its spans; the original is only read."""
    print(workspace.reconstruct(span_path, output_dir, _options(mode=mode).mode))


@app.command()
def learn(
    folder: Folder = WORKSPACE,
    repeats: Annotated[int, typer.Option(min=1, help="Runs in the slim environment.")] = 5,
) -> None:
    """Run the program in its slim environment and add the removed code that it still calls.

    Which functions a run calls may hang on chance. Here each one that is missing is put back, and
    kept in the environment that is made anew.
    """
    with _progress() as progress:
        task = progress.add_task("libraries", total=None)
        added = workspace.learn(
            folder,
            repeats,
            lambda name, done, total: progress.update(task, completed=done, total=total),
        )
    console.print(f"{added} removed functions were called" + (": added" if added else ""))
    print(folder / "env")


@app.command()
def verify(
    folder: Folder = WORKSPACE,
    repeats: Annotated[int, typer.Option(min=1, help="Runs in each environment.")] = 5,
) -> None:
    """Run the debloated program again in both environments and compare its output."""
    with console.status(f"{repeats} runs in each environment"):
        verdict = workspace.verify(folder, repeats)
    console.print("[green]equal output in every run[/]")
    print(verdict)


@app.command()
def doctor() -> None:
    """Say what this machine lacks, what that costs, and how to get it."""
    table = Table("part", "state", "what to do")
    findings = examine()
    for finding in findings:
        state = "[green]there[/]" if finding.present else "[yellow]missing[/]"
        table.add_row(finding.part, state, finding.advice)
    Console().print(table)


def main() -> None:
    """Run the command line; exits with 2 for a mistake of the user's and 1 for one of ours."""
    try:
        app()
    except TrimtabError as error:
        console.print(f"[bold red]error:[/] {error}", highlight=False, soft_wrap=True)
        sys.exit(error.exit_code)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        console.print(f"[bold red]error:[/] {where}{os.strerror(error.errno or 0)}")
        sys.exit(1)
