"""`trimtab image share`: slim images that have one layer in common."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from trimtab.cli.steps import console
from trimtab.cli.terminal import Terminal, say_path
from trimtab.debloating.several_images.fleet import Member, slim_together
from trimtab.errors import visible
from trimtab.images.archives.image import Image
from trimtab.images.archives.opening import open_image
from trimtab.images.compression import Compression
from trimtab.images.weighing import Weight, layer_weights, total_weight
from trimtab.locks import writing_in

Weights = list[dict[str, Weight]]  # of each image, by layer


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
    images that are written have that as one layer, which engines and registries have once.
    """
    with writing_in(output), console.status("") as status:
        before = [Member.of(folder, output).target.unpacked.image for folder in workspaces]
        alone = [open_image(folder / "slim.tar") for folder in workspaces]
        archives = slim_together(workspaces, output, status.update)
        status.update("weighing what a fleet of them pulls and stores")
        table = _table(
            [visible(str(folder)) for folder in workspaces],
            *map(_weights, (before, alone, [open_image(archive) for archive in archives])),
        )
    Terminal().print(table)
    for archive in archives:
        say_path(archive)


def _weights(images: list[Image]) -> Weights:
    known: dict[str, Weight] = {}
    found = []
    for image in images:
        weights = layer_weights(image, Compression.ZSTD, known)
        known |= weights
        found.append(weights)
    return found


def _table(names: list[str], before: Weights, alone: Weights, sharing: Weights) -> Table:
    table = Table("MB pulled (zstd) and stored", "before", "slim, each alone", "slim, sharing")
    for number, name in enumerate(names):
        of_one = [_words(weights[number]) for weights in (before, alone, sharing)]
        table.add_row(name, *of_one)
    table.add_section()
    every = [_words(_union(weights)) for weights in (before, alone, sharing)]
    table.add_row("all of them on one host", *every)
    common = [_words(_common(weights)) for weights in (before, alone, sharing)]
    table.add_row("of it in layers of all", *common)
    return table


def _union(weights: Weights) -> dict[str, Weight]:
    return {layer: weight for of_one in weights for layer, weight in of_one.items()}


def _common(weights: Weights) -> dict[str, Weight]:
    common = set(weights[0]).intersection(*weights[1:])
    return {layer: weight for layer, weight in weights[0].items() if layer in common}


def _words(layers: dict[str, Weight]) -> str:
    total = total_weight(layers.values())
    return f"{total.compressed_bytes / 1e6:,.1f} / {total.uncompressed_bytes / 1e6:,.1f}"
