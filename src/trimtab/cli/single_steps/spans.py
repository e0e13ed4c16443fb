"""`trimtab advanced locate` and `reconstruct`: a library's spans, and the rebuilt library."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli import workspace
from trimtab.cli.config_options.debloat import LOCATE, RECONSTRUCT, Gpus
from trimtab.cli.config_options.group import option_groups
from trimtab.cli.output.console import console
from trimtab.cli.output.progress_lines import LIBRARIES
from trimtab.cli.steps import WORKSPACE, WorkspaceOption
from trimtab.cli.workspace_lock import alone_in
from trimtab.config.groups.debloat import Debloat
from trimtab.debloating.libraries.reconstruct import reconstruct as rebuild
from trimtab.disk_use import disk_bytes
from trimtab.records.library_spans import LibrarySpans
from trimtab.records.outcome import mb


@alone_in("folder")
@option_groups(options=LOCATE)
def locate(options: Debloat, folder: WorkspaceOption = WORKSPACE, gpus: Gpus = None) -> None:
    """Write which spans of each traced library are kept and removed, and why."""
    with console.bars("locating what is used") as progress:
        task = progress.add_task("locating", total=None, unit=LIBRARIES)
        spans = workspace.locate(
            folder,
            options,
            gpus or [],
            lambda name, done, total: progress.update(task, completed=done, total=total),
        )
    console.path(spans)
    found = [LibrarySpans.read(path) for path in sorted(spans.iterdir())] if console.as_json else []
    libraries = [
        {
            "library": Path(each.library),
            "kept_bytes": each.kept_bytes,
            "removed_bytes": each.removed_bytes,
            "note": each.note,
        }
        for each in found
    ]
    console.result({"spans": spans, "libraries": libraries})


@alone_in("output_dir")
@option_groups(options=RECONSTRUCT)
def reconstruct(
    span_path: Annotated[Path, typer.Option(help="A spans/LIBRARY.json.")],
    output_dir: Annotated[Path, typer.Option(help="Where the library is written.")],
    options: Debloat,
) -> None:
    """Rebuild one library from its spans; the original is only read."""
    library = rebuild(span_path, output_dir, options.mode)
    console.path(library)
    before, after = LibrarySpans.read(span_path).size_bytes, library.stat()
    console.notes.print(f"{mb(before)} MB before, {mb(disk_bytes(after))} MB on disk now")
    console.result(
        {
            "library": library,
            "before_bytes": before,
            "after_bytes": after.st_size,
            "after_disk_bytes": disk_bytes(after),
        }
    )
