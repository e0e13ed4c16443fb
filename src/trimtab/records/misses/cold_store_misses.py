"""The file of misses that a node's cold store writes, of the containers of all images there."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from trimtab.errors import UserError
from trimtab.records.document import PART
from trimtab.records.misses.record_lines import MOST_LINES, Line, line_of
from trimtab.records.values import Text
from trimtab.untrusted import lines_of_untrusted

_MOST_BYTES = 1 << 28  # of a file, however short its lines are: containers fill it
_MOST_NAMED = 10  # images


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
    those that no cold store writes, those that name nothing that `is_of_image` knows, and what is
    more than a record may have. What is said again is written once.

    Without `indexes`, all files have to be of one image. Raises UserError if they are of several,
    or if no line is left.
    """
    skipped, found = Counter[Path](), set[str]()
    lines: dict[Line, str] = {}  # by what they say, at whatever time
    left_bytes = _MOST_BYTES
    for path, miss in _misses_in(files, skipped):
        if indexes and miss.index not in indexes:
            continue
        if len(found) < _MOST_NAMED:
            found.add(miss.index)
        text = json.dumps(miss.piece)
        line = _line_of(text)
        is_full = len(lines) >= MOST_LINES or left_bytes <= len(text)
        if line is None or is_full or not is_of_image(line):
            skipped[path] += 1
        elif (key := replace(line, time_s=0)) not in lines:
            lines[key] = text
            left_bytes -= len(text) + 1
    named = ", ".join(map(str, files))
    if not indexes and len(found) > 1:
        raise UserError(
            f"{named}: misses of {'several' if len(found) == _MOST_NAMED else len(found)} images;"
            " name the one that was made here with --index, as `trimtab image inspect` shows it:"
            f" {' or '.join(sorted(found))}"
        )
    if not lines:
        why = f": {format_skipped(skipped)}" if skipped else ""
        raise UserError(
            f"{named}: no misses of the image that was made here{why}; give files that"
            " `trimtab cold-store serve --misses` wrote"
        )
    record.write_text("\n".join(lines.values()) + "\n")
    return skipped


def format_skipped(skipped: Mapping[Path, int]) -> str:
    """Return how many lines of each file were skipped, as a sentence."""
    parts = [
        f"{count:,} {'line' if count == 1 else 'lines'} of {path}"
        for path, count in skipped.items()
    ]
    verb = "names" if list(skipped.values()) == [1] else "name"
    return f"{', '.join(parts)} {verb} nothing of this image: skipped"


def _line_of(text: str) -> Line | None:
    try:
        return line_of(text.encode())
    except ValueError:
        return None


def _misses_in(
    files: Sequence[Path], skipped: Counter[Path]
) -> Iterator[tuple[Path, ColdStoreMiss]]:
    for path in files:
        if not path.exists():
            raise UserError(f"{path}: no such file")
        for line in lines_of_untrusted(path, _MOST_BYTES, _MOST_BYTES):
            try:
                yield path, _MISS.validate_json(line, strict=True)
            except ValidationError:
                skipped[path] += 1
