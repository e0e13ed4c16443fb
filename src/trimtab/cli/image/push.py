"""`trimtab image push`: a slim image and its cold index, to a registry."""

import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from trimtab.cli.image.registries import Ca, PlainHttp, registry_at
from trimtab.cli.output.console import console
from trimtab.cold_store.registry import Registry
from trimtab.debloating.shipping.downloading import download
from trimtab.debloating.shipping.labels import ORIGINAL, label_of
from trimtab.debloating.shipping.names import RegistryName
from trimtab.debloating.shipping.pushing import Original, Pushed
from trimtab.debloating.shipping.pushing import push as push_image
from trimtab.debloating.targets.image import STORE
from trimtab.errors import UserError
from trimtab.images.archives.image import Image
from trimtab.profiling.images.unpacked import image_at


def push(
    location: Annotated[
        str,
        typer.Argument(metavar="IMAGE", help="The slim image: WORKSPACE/slim.tar, or its name in"
                       " an engine, as HOST/PATH:slim."),
    ],
    to: Annotated[
        str | None,
        typer.Option(metavar="HOST/PATH:TAG", help="Its name in the registry; by default IMAGE."),
    ] = None,
    original: Annotated[
        str | None,
        typer.Option(
            metavar="HOST/PATH:TAG",
            help="The image that it was made of, in the same registry; by default that of the"
            " label dev.trimtab.original.",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            help="The folder with what was removed, for what the registry does not have; by"
            " default `store` beside the archive."
        ),
    ] = None,
    ca: Ca = None,
    plain_http: PlainHttp = False,
) -> None:  # fmt: skip
    """Push a slim image, and an index of where the registry has what was removed.

    The layers of the original, which the registry has, are not stored again. On each node
    `trimtab cold-store serve` brings back from there what a container misses.
    """
    slim = image_at(location)
    target = RegistryName.parse(to or _name(slim, location))
    store = store or _beside(location)
    with (
        registry_at(target.host, ca, plain_http) as registry,
        tempfile.TemporaryDirectory(prefix="trimtab-") as place,
        console.step("reading the original in the registry") as status,
    ):
        found = _original(original, slim, target, registry, Path(place))
        status.update("indexing and pushing")
        pushed = push_image(slim, target, registry, found, store, Path(place))
    console.answer(_table(pushed))
    if not pushed.index:
        console.notes.print("it needs no cold index: nothing of it comes from a store")
    console.result(asdict(pushed))


def _name(slim: Image, location: str) -> str:
    if not os.path.lexists(location):
        return location
    if not slim.names:
        raise UserError(f"{location}: has no name; type --to HOST/PATH:TAG")
    return slim.names[0]


def _beside(location: str) -> Path | None:
    store = Path(location).parent / STORE
    return store if os.path.lexists(location) and store.is_dir() else None


def _original(
    asked: str | None,
    slim: Image,
    target: RegistryName,
    registry: Registry,
    place: Path,
) -> Original | None:
    """Return the original in the registry; None if it is not there, and nobody named it."""
    label = label_of(slim, ORIGINAL)
    try:
        name = RegistryName.parse(asked or label)
    except UserError:
        if asked:
            raise
        name = None
    is_there = (
        name is not None
        and name.host == target.host
        and registry.has_manifest(name.repository, name.reference)
    )
    if is_there and name == target:
        raise UserError(
            f"{target}: is the original, which the slim image needs; give that another name with"
            " --to"
        )
    if name is None or not is_there:
        if asked:
            raise UserError(f"{asked}: not in the registry {target.host}; push it there first")
        return None
    platform = slim.config.platform()
    folder = place / "original"
    return Original(
        name.repository, download(registry, name.repository, name.reference, folder, platform)
    )


def _table(pushed: Pushed) -> Table:
    table = Table("in the registry", "MB")
    for what, size_bytes in (
        ("the slim image's layers", pushed.slim_bytes),
        (f"the cold index, of {pushed.files:,} removed files", pushed.index_bytes),
        ("the cold blob: what the original's layers there lack", pushed.cold_blob_bytes),
        ("the original's layers, as they were", pushed.original_bytes),
    ):
        if size_bytes:
            table.add_row(what, f"{size_bytes / 1e6:,.2f}")
    return table
