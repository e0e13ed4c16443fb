"""`trimtab cold-store ...`: the server on a node that brings removed pieces from a registry."""

import tempfile
import zipapp
from importlib.util import find_spec
from pathlib import Path
from shutil import copytree, ignore_patterns
from typing import Annotated

import typer

from trimtab import cold_store as package
from trimtab.cli.output.command_group import CommandGroup
from trimtab.cli.output.console import console
from trimtab.cli.overview import VERBS
from trimtab.cold_store.node import CACHE, CACHE_BYTES, SOCKET
from trimtab.errors import TrimtabError, UserError

cold_store = CommandGroup(help=VERBS["cold-store"], no_args_is_help=True)
_MAIN = """\
import sys

if sys.version_info < (3, 11):
    sys.exit("error: it needs Python 3.11 or newer; name one: python3.11 FILE serve ...")

from trimtab.cold_store.__main__ import main

sys.exit(main())
"""


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
        typer.Option(metavar="FILE", help="Credentials of registries, as Docker's config.json."),
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


def write_file(output: Path) -> None:
    """Write the server, with urllib3, as a zip archive that Python runs."""
    urllib3 = find_spec("urllib3")
    if urllib3 is None or not urllib3.submodule_search_locations:
        raise TrimtabError("urllib3 is not installed as files; install it again")
    with tempfile.TemporaryDirectory(prefix="trimtab-") as place:
        folder, own = Path(place), Path(package.__path__[0])
        ignored = ignore_patterns("__pycache__", "*.so", "contrib")
        copytree(urllib3.submodule_search_locations[0], folder / "urllib3", ignore=ignored)
        copytree(own, folder / "trimtab/cold_store", ignore=ignored)
        (folder / "trimtab/__init__.py").touch()
        (folder / "__main__.py").write_text(_MAIN)
        try:
            zipapp.create_archive(folder, output, "/usr/bin/env python3", compressed=True)
        except OSError as error:
            raise UserError(f"{output}: {error.strerror}; name another file") from None
