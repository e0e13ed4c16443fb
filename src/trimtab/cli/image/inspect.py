"""`trimtab image inspect`: what an image was made of, and where the rest of it is."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from trimtab.cli.image.registries import Ca, PlainHttp, named_in_registry, registry_at
from trimtab.cli.output.console import console
from trimtab.debloating.shipping.inspection import Inspected, inspected, inspected_in
from trimtab.errors import UserError, escape_control_characters
from trimtab.profiling.images.unpacked import image_at


def inspect(
    location: Annotated[
        str,
        typer.Argument(
            metavar="IMAGE", help="HOST/PATH:TAG in a registry; else as for `image slim`."
        ),
    ],
    ca: Ca = None,
    plain_http: PlainHttp = False,
) -> None:
    """Tell the original of a slim image, trimtab's version, and where what was removed is."""
    if (name := named_in_registry(location)) is not None:
        with registry_at(name.host, ca, plain_http) as registry:
            found = inspected_in(registry, name)
    else:
        found = inspected(image_at(location).config.run().labels)
    if not found.made_by:
        raise UserError(f"{location}: no slim image: it has no label dev.trimtab.version")
    console.answer(_table(found))
    console.result(asdict(found))


def _table(found: Inspected) -> Table:
    table = Table(show_header=False)
    table.add_column()
    table.add_column(overflow="fold")  # digests are copied
    rows = [("made by trimtab", found.made_by), ("original", found.original or "unknown")]
    rows.append(("cold index", found.index or "none: `trimtab image push` makes it"))
    if found.files:
        rows += [
            ("of it", f"{found.index_bytes / 1e6:,.2f} MB, found by the image's digest"
             f" {len(found.referrers)} times"),
            ("removed files", f"{found.files:,}, {found.removed_bytes / 1e6:,.1f} MB"),
            ("their layers", f"{found.layers}, of which the registry lacks"
             f" {len(found.missing_layers)}"),
        ]  # fmt: skip
    for what, value in rows:
        table.add_row(what, escape_control_characters(value))
    return table
