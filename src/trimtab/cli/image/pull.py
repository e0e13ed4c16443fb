"""`trimtab image pull`: a slim image from a registry, with what was removed from it."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.image.registries import Ca, PlainHttp, registry_at
from trimtab.cli.output.console import console
from trimtab.debloating.shipping.downloading import download
from trimtab.debloating.shipping.labels import INDEX, label_of
from trimtab.debloating.shipping.names import RegistryName
from trimtab.debloating.shipping.pulling import fill_store, index_at
from trimtab.debloating.targets.image import SLIM_IMAGE
from trimtab.errors import UserError
from trimtab.images.archives.platform import Platform


def pull(
    name: Annotated[str, typer.Argument(metavar="HOST/PATH:TAG", help="The image.")],
    output: Annotated[
        Path, typer.Option(help="The archive, for `docker load --input`.")
    ] = Path(SLIM_IMAGE),
    store: Annotated[
        Path | None,
        typer.Option(help="A folder for what was removed, which containers get as /trimtab/store."),
    ] = None,
    ca: Ca = None,
    plain_http: PlainHttp = False,
) -> None:  # fmt: skip
    """Write an image of a registry as an archive, for an engine that does not reach it.

    With --store, write a slim image's removed files too: then no container asks the registry.
    """
    found = RegistryName.parse(name)
    filled_bytes = 0
    with (
        registry_at(found.host, ca, plain_http) as registry,
        console.step(f"pulling {name}") as status,
    ):
        image = download(registry, found.repository, found.reference, output, Platform.here()).image
        if store is not None:
            line = label_of(image, INDEX)
            if not line:
                raise UserError(f"{name}: has no cold index; `trimtab image push` makes it")
            status.update("writing what was removed")
            place = RegistryName.parse(line)
            index = index_at(registry, line)
            filled_bytes = fill_store(registry, place.repository, index, store)
    console.path(output)
    if store is not None:
        console.path(store)
        console.notes.print(f"docker run --volume {store.resolve()}:/trimtab/store:ro {name}")
    console.result({"archive": output, "store": store, "removed_bytes": filled_bytes})
