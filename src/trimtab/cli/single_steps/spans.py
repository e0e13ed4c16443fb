"""`trimtab locate` and `trimtab reconstruct`: a library's spans, and the library that they make."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli import workspace
from trimtab.cli.alone import alone_in
from trimtab.cli.debloat_options import For, GpuOption, ModeOption, StartUpOnlyOption, SymbolsOption
from trimtab.cli.steps import COMMAND_LINE, WORKSPACE, WorkspaceOption, progress_bars
from trimtab.cli.terminal import say_path
from trimtab.config.groups.debloat import Debloat, Gpu, Mode, StartUpOnly, Symbols


@alone_in("folder")
def locate(
    folder: WorkspaceOption = WORKSPACE,
    symbols: SymbolsOption = Symbols.STRIP,
    gpu: GpuOption = Gpu.USED,
    start_up_only: StartUpOnlyOption = StartUpOnly.KEEP,
    gpus: For = None,
) -> None:
    """Write which spans of each traced library are kept and removed, and why."""
    with progress_bars() as progress:
        task = progress.add_task("locating", total=None)
        spans = workspace.locate(
            folder,
            Debloat(name=COMMAND_LINE, symbols=symbols, gpu=gpu, start_up_only=start_up_only),
            gpus or [],
            lambda name, done, total: progress.update(task, completed=done, total=total),
        )
    say_path(spans)


@alone_in("output_dir")
def reconstruct(
    span_path: Annotated[Path, typer.Option(help="A spans/LIBRARY.json.")],
    output_dir: Annotated[Path, typer.Option(help="Where the library is written.")],
    mode: ModeOption = Mode.ZERO,
) -> None:
    """Rebuild one library from its spans; the original is only read."""
    say_path(workspace.reconstruct(span_path, output_dir, mode))
