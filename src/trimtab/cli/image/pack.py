"""`trimtab image pack`: an image of a folder, without an engine."""

from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.output.console import console
from trimtab.errors import TrimtabError, UserError
from trimtab.images.archives.fields import Fields
from trimtab.images.archives.image import Config, Image
from trimtab.images.archives.platform import Platform
from trimtab.images.compression import Compression
from trimtab.images.folders import folder_view
from trimtab.images.merging import merged_view
from trimtab.images.view import View
from trimtab.images.writing.image import write_image
from trimtab.profiling.images.unpacked import image_at


def pack(
    folder: Annotated[Path, typer.Argument(help="A root file system, a venv, or any folder.")],
    output: Annotated[Path, typer.Argument(metavar="ARCHIVE.tar", help="The new image.")],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND]", help="What a container of it runs."),
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(metavar="IMAGE", help="Put FOLDER into this image; else it is all of it."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Its path in the image: / by default, and with --on the"
                     " path that it has here."),
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A variable; give one for each.")
    ] = None,
    name: Annotated[str, typer.Option(metavar="NAME:TAG", help="Its name.")] = "packed:latest",
) -> None:  # fmt: skip
    """Write an image of FOLDER, as `debootstrap` or `python -m venv` made it.

    Neither an engine nor its builder is needed. Engines load the archive, and `trimtab image slim`
    reads it. A venv needs the Python that it was made with: name an image that has it with --on.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    if output.suffix != ".tar":
        raise UserError(f"{output}: expected a name that ends in .tar")
    place = at or (str(folder.resolve()) if on else "/")
    if not place.startswith("/"):
        raise UserError(f"--at {place}: expected a path from the image's root, as /{place}")
    for text in env or ():
        if "=" not in text.strip("="):
            raise UserError(f"--env {text}: expected NAME=VALUE")
    with console.step(f"packing {folder}"):
        base = image_at(on) if on else _empty(output)
        view = merged_view(base) if on else View()
        try:
            view.put_folder(place, folder_view(folder).root)
        except TrimtabError as error:
            raise UserError(f"{error}; choose another place with --at") from None
        image = _with_start(base, command or [], env or [])
        write_image(image, view, output, name=name, compression=Compression.GZIP)
    console.path(output)
    console.result({"image": output, "name": name})


def _empty(output: Path) -> Image:
    platform = Platform.here()
    facts = {"os": platform.system, "architecture": platform.architecture}
    nowhere = output.with_suffix(".empty")  # named in errors alone
    return Image(nowhere, (), Config(Fields({**facts, "config": {}}), ()), ())


def _with_start(image: Image, command: list[str], variables: list[str]) -> Image:
    changed: dict[str, object] = {"Entrypoint": None, "Cmd": command} if command else {}
    if variables:
        changed["Env"] = [*image.config.run().environment, *variables]
    return image.started_with(changed)
