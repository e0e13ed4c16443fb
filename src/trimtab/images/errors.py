"""Errors of images."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trimtab.errors import UserError


class ImageError(UserError):
    """An image is unusable; the message begins with its path."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


class DamagedError(ValueError):
    """Bytes violate their format; the message says how, without the file."""


@contextmanager
def damage_of(path: Path, part: str) -> Iterator[None]:
    """Convert a DamagedError to an ImageError about this `part` of the image at `path`."""
    try:
        yield
    except DamagedError as error:
        raise ImageError(path, f"{part}: {error}") from None
