"""The file of misses that a node's cold store writes, of the containers of all images there."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from trimtab.errors import UserError
from trimtab.records.document import PART
from trimtab.records.misses.record_lines import Line, line_of
from trimtab.records.values import Text
from trimtab.untrusted import lines_of_untrusted

_MOST_BYTES, _MOST_LINES = 1 << 28, 1_000_000


@dataclass(frozen=True, config=PART)
class ColdStoreMiss:
    """A miss in an image with the cold index `index`; `piece` is a line of `fallback.jsonl`."""

    index: Text
    piece: dict[str, str | int | float]


_MISS: TypeAdapter[ColdStoreMiss] = TypeAdapter(ColdStoreMiss)


def write_record(
    files: Sequence[Path],
    indexes: Collection[str],
    is_of_image: Callable[[Line], bool],
    record: Path,
) -> Counter[Path]:
    """Write the misses in `files` of images with one of `indexes` as a record `fallback.jsonl`.

    Return how many lines of each file were skipped, as a container may have told its node anything:
    those that no cold store writes, and those that name nothing that `is_of_image` knows.

    Without `indexes`, all files have to be of one image. Raises UserError if they are of several,
    or if no line is left.
    """
    skipped = Counter[Path]()
    misses = [(path, miss) for path in files for miss in _misses_in(path, skipped)]
    named = ", ".join(map(str, files))
    found = {miss.index for _, miss in misses}
    if not indexes and len(found) > 1:
        raise UserError(
            f"{named}: misses of {len(found)} images; name the one that was"
            " made here with --index, as `trimtab image inspect` shows it:"
            f" {' or '.join(sorted(found))}"
        )
    lines = []
    for path, miss in misses:
        if indexes and miss.index not in indexes:
            continue
        text = json.dumps(miss.piece)
        if _is_usable(text, is_of_image):
            lines.append(text)
        else:
            skipped[path] += 1
    if not lines:
        why = f": {format_skipped(skipped)}" if skipped else ""
        raise UserError(
            f"{named}: no misses of the image that was made here{why}; give files that"
            " `trimtab cold-store serve --misses` wrote"
        )
    record.write_text("\n".join(lines) + "\n")
    return skipped


def format_skipped(skipped: Mapping[Path, int]) -> str:
    """Return how many lines of each file were skipped, as a sentence."""
    parts = [
        f"{count:,} {'line' if count == 1 else 'lines'} of {path}"
        for path, count in skipped.items()
    ]
    verb = "names" if list(skipped.values()) == [1] else "name"
    return f"{', '.join(parts)} {verb} nothing of this image: skipped"


def _is_usable(text: str, is_of_image: Callable[[Line], bool]) -> bool:
    try:
        return is_of_image(line_of(text.encode()))
    except ValueError:
        return False


def _misses_in(path: Path, skipped: Counter[Path]) -> Iterator[ColdStoreMiss]:
    if not path.exists():
        raise UserError(f"{path}: no such file")
    for line in lines_of_untrusted(path, _MOST_BYTES, _MOST_LINES):
        try:
            yield _MISS.validate_json(line, strict=True)
        except ValidationError:
            skipped[path] += 1
