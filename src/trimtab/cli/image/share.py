"""`trimtab image share`: slim images with a common layer."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from trimtab.cli.output.console import console
from trimtab.debloating.several_images.fleet import members_of, slim_together
from trimtab.debloating.several_images.fleet_weights import fleet_of
from trimtab.errors import escape_control_characters
from trimtab.locks import folder_lock
from trimtab.records.images.fleet import Fleet, LayerTotals

FLEET = "fleet.json"  # beside the images


def share(
    workspaces: Annotated[
        list[Path],
        typer.Argument(metavar="WORKSPACE...", help="In each `trimtab image slim` made an image."),
    ],
    output: Annotated[
        Path, typer.Option(help="The folder for WORKSPACE/slim.tar of each of them.")
    ] = Path("trimtab_fleet"),
) -> None:
    """Make the images of WORKSPACES slim again, so that those of one base share a layer.

    All keep what any of them needs of the layers that their originals have in common, and the
    images that are written have that as one layer, which engines and registries have once. What
    all of them pull and store, before and after, is in fleet.json.
    """
    with folder_lock(output), console.step("making the images slim together") as status:
        members = members_of(workspaces, output)
        archives = slim_together(members, output, status.update)
        status.update("weighing what a fleet of them pulls and stores")
        fleet = fleet_of(members, archives)
        fleet.write(output / FLEET)
    console.answer(_table(fleet))
    for path in (*archives.values(), output / FLEET):
        console.path(path)
    console.result(fleet.to_json())


def _table(fleet: Fleet) -> Table:
    table = Table("MB pulled (zstd) and stored", "before", "slim, each alone", "slim, sharing")
    states = fleet.before, fleet.alone, fleet.sharing
    for name in fleet.before.images:
        table.add_row(
            escape_control_characters(name), *(_words(state.images[name]) for state in states)
        )
    table.add_section()
    table.add_row("all of them on one host", *(_words(state.all) for state in states))
    table.add_row("of it in layers of all", *(_words(state.common) for state in states))
    return table


def _words(layers: LayerTotals) -> str:
    return f"{layers.pulled_bytes / 1e6:,.1f} / {layers.stored_bytes / 1e6:,.1f}"
