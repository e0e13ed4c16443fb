"""The file of misses that a node's cold store writes, of the containers of all images there."""

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from trimtab.errors import UserError
from trimtab.records.document import PART, first_mistake
from trimtab.records.misses.record_lines import line_of
from trimtab.records.values import Text
from trimtab.untrusted import lines_of_untrusted

_MOST_BYTES, _MOST_LINES = 1 << 28, 1_000_000


@dataclass(frozen=True, config=PART)
class ColdStoreMiss:
    """A miss in an image with the cold index `index`; `piece` is a line of `fallback.jsonl`."""

    index: Text
    piece: dict[str, str | int | float]


_MISS: TypeAdapter[ColdStoreMiss] = TypeAdapter(ColdStoreMiss)


def write_record(files: Sequence[Path], indexes: Collection[str], record: Path) -> int:
    """Write the misses in `files` of images with one of `indexes` as a record `fallback.jsonl`.

    Return how many were left out: a container may have told the node anything.

    Without `indexes`, all files have to be of one image. Raises UserError if they are of several,
    if they have none, or for a line that no cold store wrote.
    """
    misses = [miss for path in files for miss in _misses_in(path)]
    found = {miss.index for miss in misses}
    if not indexes and len(found) > 1:
        raise UserError(
            f"{', '.join(map(str, files))}: misses of {len(found)} images; name the one that was"
            " made here with --index, as `trimtab image inspect` shows it:"
            f" {' or '.join(sorted(found))}"
        )
    told = [json.dumps(miss.piece) for miss in misses if not indexes or miss.index in indexes]
    lines = [line for line in told if _is_of_a_fallback(line)]
    if not lines:
        raise UserError(f"{', '.join(map(str, files))}: no misses of the image that was made here")
    record.write_text("\n".join(lines) + "\n")
    return len(told) - len(lines)


def _is_of_a_fallback(line: str) -> bool:
    try:
        line_of(line.encode())
    except ValueError:
        return False
    return True


def _misses_in(path: Path) -> Iterator[ColdStoreMiss]:
    if not path.exists():
        raise UserError(f"{path}: no such file")
    for number, line in enumerate(lines_of_untrusted(path, _MOST_BYTES, _MOST_LINES), 1):
        try:
            yield _MISS.validate_json(line, strict=True)
        except ValidationError as error:
            raise UserError(
                f"{path}: line {number} is no miss: {first_mistake(error)}; give a file that"
                " `trimtab cold-store serve --misses` wrote"
            ) from None
