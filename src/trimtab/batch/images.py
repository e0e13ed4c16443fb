"""Times of start-up by image, from a CSV file."""

from pathlib import Path
from typing import NamedTuple

from trimtab.batch.readers.csv_rows import TextRow, read_rows
from trimtab.errors import UserError

_NEEDED = ("image", "cold_start_s", "warm_start_s")
_EXPECTED = "expected a CSV with a header: image,cold_start_s,warm_start_s, and bytes if known"


class ImageStart(NamedTuple):
    """How long a job waits for its image on a node without it, or with it; its size, or None."""

    cold_s: float
    warm_s: float
    size_bytes: int | None


def read_images(path: Path) -> dict[str, ImageStart]:
    """Return the times by the name of the image.

    Raises UserError with the line and what was expected.
    """
    images: dict[str, ImageStart] = {}
    for row in read_rows(path, None, _NEEDED, _EXPECTED):
        name = row.texts["image"]
        if not name or name in images:
            raise UserError(f"{row.place}: image {name[:60]!r}: expected each name once")
        cold_s, warm_s = (_given(row, column) for column in _NEEDED[1:])
        size = row.number("bytes")
        images[name] = ImageStart(cold_s, warm_s, None if size is None else int(size))
    return images


def _given(row: TextRow, column: str) -> float:
    number = row.number(column)
    if number is None:
        raise UserError(f"{row.place}: {column}: '', expected a number from 0")
    return number
