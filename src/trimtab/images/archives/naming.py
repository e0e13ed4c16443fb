"""Choose an image of an archive by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from trimtab.images.errors import ImageError

MOST_DOCUMENT_BYTES = 8 << 20
_MOST_SHOWN = 20
_Found = TypeVar("_Found")


def only_one(path: Path, named: Sequence[tuple[Sequence[str], _Found]]) -> _Found:
    """Return the only one of what is named; raises ImageError where there is none, or several."""
    if not named:
        raise ImageError(path, "has no image")
    if len(named) > 1:
        every = [text for names, _ in named for text in names]
        shown = ", ".join(every[:_MOST_SHOWN]) + (", ..." if len(every) > _MOST_SHOWN else "")
        raise ImageError(
            path,
            f"has {len(named)} images ({shown or 'none has a name'}); expected one, as `docker save"
            " NAME` writes it",
        )
    return named[0][1]
