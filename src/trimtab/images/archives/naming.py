"""Which image of an archive is meant."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from trimtab.images.errors import ImageError

MOST_DOCUMENT_BYTES = 8 << 20
_MOST_SHOWN = 20
_Found = TypeVar("_Found")


def one_of(path: Path, named: Sequence[tuple[tuple[str, ...], _Found]], name: str | None) -> _Found:
    """Return what has `name` among its names, or the only one where that is None.

    A name without a tag is that with the tag `latest`. Raises ImageError where that is not one.
    """
    if name is not None:
        asked = {name, f"{name}:latest", f"docker.io/library/{name}", f"docker.io/{name}"}
        asked |= {f"{text}:latest" for text in asked}
        fitting = [found for names, found in named if asked.intersection(names)]
    else:
        fitting = [found for _, found in named]
    if len(fitting) == 1:
        return fitting[0]
    every = [text for names, _ in named for text in names]
    shown = ", ".join(every[:_MOST_SHOWN]) + (", ..." if len(every) > _MOST_SHOWN else "")
    if not named:
        raise ImageError(path, "has no image")
    if name is None:
        raise ImageError(
            path,
            f"has {len(named)} images ({shown or 'none has a name'}); expected one, as `docker save"
            " NAME` writes it",
        )
    count = "no image" if not fitting else f"{len(fitting)} images"
    raise ImageError(path, f"has {count} of the name {name!r}, but {shown or 'only unnamed ones'}")
