"""`trimtab image partition`: an image for each program that a run executed."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from trimtab.cli.output.console import console
from trimtab.debloating.several_images.partition import partition as partition_image
from trimtab.errors import escape_control_characters
from trimtab.locks import folder_lock


def partition(
    workspace: Annotated[
        Path, typer.Argument(help="In which `trimtab image slim` made an image.")
    ] = Path("trimtab_workspace"),
    output: Annotated[
        Path, typer.Option(help="The folder for PROGRAM/slim.tar of each of them.")
    ] = Path("trimtab_partition"),
) -> None:
    """Write an image for each program that the traced runs executed, with it as the entrypoint.

    Each is without the others, and what only these need. No program is run.
    """
    with folder_lock(output), console.step("writing an image for each program") as status:
        written = partition_image(
            workspace,
            output,
            lambda path, done, total: status.update(
                f"{done + 1} of {total}: {escape_control_characters(path)}"
            ),
        )
    table = Table("program", "image", "MB")
    for program, archive in written.items():
        table.add_row(
            escape_control_characters(program),
            archive.parent.name,
            f"{archive.stat().st_size / 1e6:,.1f}",
        )
    console.answer(table)
    for archive in written.values():
        console.path(archive)
    images = [
        {"program": program, "image": archive, "size_bytes": archive.stat().st_size}
        for program, archive in written.items()
    ]
    console.result({"images": images})
