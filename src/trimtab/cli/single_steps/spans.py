"""`trimtab locate` and `trimtab reconstruct`: a library's spans, and the library that they make."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli import workspace
from trimtab.cli.alone import alone_in
from trimtab.cli.debloat_options import For, GpuOption, ModeOption, StartUpOnlyOption, SymbolsOption
from trimtab.cli.output.console import speaker
from trimtab.cli.output.progress_lines import LIBRARIES
from trimtab.cli.steps import COMMAND_LINE, WORKSPACE, WorkspaceOption
from trimtab.config.groups.debloat import Debloat, Gpu, Mode, StartUpOnly, Symbols
from trimtab.debloating.libraries.reconstruct import reconstruct as rebuild
from trimtab.evaluation.outcome.document import mb
from trimtab.records.library_spans import LibrarySpans


@alone_in("folder")
def locate(
    folder: WorkspaceOption = WORKSPACE,
    symbols: SymbolsOption = Symbols.STRIP,
    gpu: GpuOption = Gpu.USED,
    start_up_only: StartUpOnlyOption = StartUpOnly.KEEP,
    gpus: For = None,
) -> None:
    """Write which spans of each traced library are kept and removed, and why."""
    with speaker.bars("locating what is used") as progress:
        task = progress.add_task("locating", total=None, unit=LIBRARIES)
        spans = workspace.locate(
            folder,
            Debloat(name=COMMAND_LINE, symbols=symbols, gpu=gpu, start_up_only=start_up_only),
            gpus or [],
            lambda name, done, total: progress.update(task, completed=done, total=total),
        )
    speaker.path(spans)
    found = [LibrarySpans.read(path) for path in sorted(spans.iterdir())] if speaker.as_json else []
    libraries = [
        {
            "library": Path(each.library),
            "kept_bytes": each.kept_bytes,
            "removed_bytes": each.removed_bytes,
            "note": each.note,
        }
        for each in found
    ]
    speaker.result({"spans": spans, "libraries": libraries})


@alone_in("output_dir")
def reconstruct(
    span_path: Annotated[Path, typer.Option(help="A spans/LIBRARY.json.")],
    output_dir: Annotated[Path, typer.Option(help="Where the library is written.")],
    mode: ModeOption = Mode.ZERO,
) -> None:
    """Rebuild one library from its spans; the original is only read."""
    library = rebuild(span_path, output_dir, mode)
    speaker.path(library)
    before, after = LibrarySpans.read(span_path).size_bytes, library.stat()
    speaker.notes.print(f"{mb(before)} MB before, {mb(after.st_blocks * 512)} MB on disk now")
    speaker.result(
        {
            "library": library,
            "before_bytes": before,
            "after_bytes": after.st_size,
            "after_disk_bytes": after.st_blocks * 512,
        }
    )
