"""What is wrong with an image."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.errors import UserError


class ImageError(UserError):
    """An image cannot be read as it is; the message begins with its path."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


class DamagedError(ValueError):
    """Bytes are not what their format asks for; the message says what, and not in which file."""


@contextmanager
def damage_of(path: Path, part: str) -> Iterator[None]:
    """Have a DamagedError say which `part` of the image at `path` it is about, as an ImageError."""
    try:
        yield
    except DamagedError as error:
        raise ImageError(path, f"{part}: {error}") from None
