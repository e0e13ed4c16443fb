"""Times of start-up by image, from a CSV file."""

import csv
import io
import math
from pathlib import Path
from typing import NamedTuple

from trimtab.errors import TrimtabError, UserError
from trimtab.files import read_limited

_MOST_BYTES = 1 << 26
_COLUMNS = ("image", "cold_start_s", "warm_start_s", "bytes")
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
    try:
        text = read_limited(path, _MOST_BYTES).decode("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
        rows = [(reader.line_num, row) for row in reader]
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; {_EXPECTED}") from None
    except (TrimtabError, UnicodeDecodeError, ValueError, csv.Error) as error:
        raise UserError(f"{path}: {error}; {_EXPECTED}") from None
    have = reader.fieldnames or []
    missing = [name for name in _COLUMNS[:3] if name not in have]
    if missing:
        raise UserError(f"{path}: no column {', '.join(missing)}; {_EXPECTED}")
    images: dict[str, ImageStart] = {}
    for line, row in rows:
        name = row["image"].strip()
        if not name or name in images:
            raise UserError(f"{path}:{line}: image {name!r}: expected each name once")
        cold_s, warm_s = (_number(path, line, key, row[key]) for key in _COLUMNS[1:3])
        size = row.get("bytes") or ""
        size_bytes = int(_number(path, line, "bytes", size)) if size.strip() else None
        images[name] = ImageStart(cold_s, warm_s, size_bytes)
    return images


def _number(path: Path, line: int, key: str, text: str | None) -> float:
    try:
        number = float(text or "")
    except ValueError:
        number = math.nan
    if not 0 <= number < 1e15:
        raise UserError(f"{path}:{line}: {key}: {(text or '')[:60]!r}, expected a number from 0")
    return number
