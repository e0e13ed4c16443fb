"""The credentials in a file that a node renews while its cold store runs."""

from collections.abc import Callable
from pathlib import Path

from trimtab.cold_store.credentials import Credential, Credentials, CredentialsError, config_file


class CredentialsFile:
    """The credentials in `path`, or where Docker keeps them, as they are when they are asked for.

    A file that cannot be read keeps what it had, as it may be half written; `say` gets a line then.
    Raises CredentialsError if it cannot be read at first. Thread-safe.
    """

    def __init__(self, path: Path | None, say: Callable[[str], None]):
        self._path, self._say = path, say
        self._last = Credentials.read(path)

    @property
    def version(self) -> object:
        """Another value once the file changed."""
        try:
            status = (self._path or config_file()).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size

    def of(self, host: str) -> Credential | None:
        """Return the credential of a registry, or None."""
        try:
            self._last = Credentials.read(self._path)
        except CredentialsError as error:
            self._say(f"{error}; what it had before is used")
        return self._last.of(host)
