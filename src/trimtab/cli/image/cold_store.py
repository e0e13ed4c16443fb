"""`trimtab cold-store ...`: the server on a node that brings removed pieces from a registry."""

import tempfile
import zipapp
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cli.output.command_group import CommandGroup
from trimtab.cli.output.console import console
from trimtab.cli.overview import VERBS
from trimtab.cold_store.node import CACHE, CACHE_BYTES, SOCKET
from trimtab.debloating.shipping.node_program.server_sources import copy_server
from trimtab.errors import UserError

cold_store = CommandGroup(help=VERBS["cold-store"], no_args_is_help=True)
_MAIN = """\
import sys

if sys.version_info < (3, 11):
    sys.exit("error: it needs Python 3.11 or newer; name one: python3.11 FILE serve ...")

from trimtab.cold_store.__main__ import main

sys.exit(main())
"""

# What a static program runs, and what that imports once it can.
_RUN = ["trimtab.cold_store.bundled", "trimtab.cold_store.__main__"]


@cold_store.command()
def serve(
    allow: Annotated[
        list[str],
        typer.Option(
            metavar="HOST[:PORT]/PREFIX",
            help="Repositories that containers may name: this one, and those below. Repeatable.",
        ),
    ],
    listen: Annotated[
        str, typer.Option(metavar="ADDRESS", help="unix:PATH or 127.0.0.1:PORT.")
    ] = SOCKET,
    metrics: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="A second address, for /metrics and /healthz alone."
        ),
    ] = None,
    cache: Annotated[Path, typer.Option(metavar="FOLDER", help="What came is kept there.")] = CACHE,
    cache_bytes: Annotated[int, typer.Option(min=0, help="Most bytes of the cache.")] = CACHE_BYTES,
    auth: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Credentials of registries, as Docker's config.json."
            " A changed file is read again.",
        ),
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Further certificate authorities of registries, PEM."),
    ] = None,
    plain_http: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST[:PORT]", help="A registry without TLS. Repeatable."),
    ] = None,
    misses: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Append what containers missed, for `trimtab advanced learn --from FILE`.",
        ),
    ] = None,
) -> None:
    """Serve the removed pieces of slim images to the containers of this node, until SIGTERM.

    They come from the registry of the image, by its cold index. The cache is for all containers.
    """
    from trimtab.cold_store.__main__ import main  # urllib3 is not for every verb

    arguments = ["serve", "--listen", listen, "--cache", str(cache)]
    arguments += ["--cache-bytes", str(cache_bytes)]
    for option, value in (("metrics", metrics), ("auth", auth), ("ca", ca), ("misses", misses)):
        if value is not None:
            arguments += [f"--{option}", str(value)]
    for option, values in (("allow", allow), ("plain-http", plain_http or [])):
        arguments += [f"--{option}={value}" for value in values]
    raise typer.Exit(main(arguments))


@cold_store.command()
def file(
    output: Annotated[Path, typer.Argument(metavar="OUT.pyz", help="The file to write.")],
) -> None:
    """Write the server as one file, for nodes that have Python but not trimtab.

    `python3 OUT.pyz serve --allow HOST/PREFIX` runs it, by Python 3.11 or newer.
    """
    write_file(output)
    console.path(output)
    console.result({"file": output})


@cold_store.command()
def program(
    output: Annotated[
        Path, typer.Argument(metavar="[OUTPUT]", help="The file to write.", show_default=True)
    ] = Path("cold-store"),
) -> None:
    """Write the server as one static program, for nodes and images that have nothing else.

    `./cold-store serve --allow HOST/PREFIX` runs it. It holds the Python that runs trimtab.
    """
    # Readers of ELF and LZ4 are not for every verb.
    from trimtab.debloating.shipping.node_program.program_file import write_program
    from trimtab.debloating.shipping.node_program.python_needs import needs_of

    if output.is_dir():  # known before the work is done
        raise UserError(f"{output}: a folder; name a file")
    with tempfile.TemporaryDirectory(prefix="trimtab-") as place:
        copy_server(Path(place))
        needs = needs_of(Path(place), _RUN)
        try:
            write_program(needs, output)
        except OSError as error:
            raise UserError(f"{output}: {error.strerror}; name another file") from None
    console.path(output)
    console.result({"file": output})


def write_file(output: Path) -> None:
    """Write the server, with urllib3, as a zip archive that Python runs."""
    with tempfile.TemporaryDirectory(prefix="trimtab-") as place:
        folder = Path(place)
        copy_server(folder)
        (folder / "__main__.py").write_text(_MAIN)
        try:
            zipapp.create_archive(folder, output, "/usr/bin/env python3", compressed=True)
        except OSError as error:
            raise UserError(f"{output}: {error.strerror}; name another file") from None
