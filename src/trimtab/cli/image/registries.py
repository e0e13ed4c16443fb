"""Registries on the command line: which, how they are reached, and their errors."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from trimtab.cold_store.credentials import Credentials, CredentialsError
from trimtab.cold_store.registry import Registry, RegistryError
from trimtab.cold_store.transport import Transport
from trimtab.debloating.shipping.names import RegistryName
from trimtab.errors import UserError

Ca = Annotated[
    Path | None,
    typer.Option("--ca", help="A file of further certificate authorities, for the registry's TLS."),
]
PlainHttp = Annotated[
    bool,
    typer.Option(
        "--plain-http", help="Use http; for a registry on this machine it is the default."
    ),
]


@contextmanager
def registry_at(host: str, ca: Path | None, plain_http: bool) -> Iterator[Registry]:
    """Yield the registry, with Docker's credentials for it.

    Raises UserError for the errors of registries and credentials.
    """
    try:
        yield Registry(Transport(host, Credentials.read(), ca, plain_http))
    except (RegistryError, CredentialsError) as error:
        raise UserError(str(error)) from None


def named_in_registry(location: str) -> RegistryName | None:
    """Return the name of an image in a registry; None for a file, a folder or an engine's image."""
    if os.path.lexists(Path(location).expanduser()) or location.startswith(("/", ".", "~")):
        return None
    try:
        return RegistryName.parse(location)
    except UserError:
        return None
