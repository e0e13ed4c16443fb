"""The lines of `fallback.jsonl`, which the fallback libraries write."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from trimtab.errors import UserError
from trimtab.files import parse_json
from trimtab.records.document import PART, first_mistake
from trimtab.records.values import AboveZero, Amount, PathInside, Text, Whole, one_of
from trimtab.untrusted import lines_of_untrusted

# A program that calls every removed function of PyTorch leaves 300,000 lines of 60 MB.
_MOST_BYTES, MOST_LINES = 1 << 28, 1_000_000
_MOST_BYTES_OF_A_LINE = 1 << 14  # the fallback writes up to 12 KiB
_BYTE = re.compile(r"[\udc80-\udcff]")
Address = Annotated[int, Field(ge=0, lt=1 << 32)]  # as wide as in the fallback's sidecars
FileKind = Annotated[str, one_of("file", "link", "folder")]


@dataclass(frozen=True, config=PART)
class CallLine:
    """A removed function that was called, under `strict` and `restore`; `time_s` is since 1970."""

    pid: AboveZero
    time_s: Amount
    library: PathInside
    address: Address
    function: Text


@dataclass(frozen=True, config=PART)
class FileLine:
    """A removed file that was asked for, under `strict` and `restore`."""

    pid: AboveZero
    time_s: Amount
    file: PathInside
    kind: FileKind


@dataclass(frozen=True, config=PART)
class CallCount:
    """The number of removed functions that a process called, at its end."""

    pid: AboveZero
    time_s: Amount
    functions: Whole


@dataclass(frozen=True, config=PART)
class FileCount:
    """The number of removed files that a process asked for, at its end."""

    pid: AboveZero
    time_s: Amount
    files: Whole


Line = CallLine | FileLine | CallCount | FileCount
# A line's key decides its kind.
_KINDS: dict[str, TypeAdapter[Any]] = {
    "functions": TypeAdapter(CallCount),
    "files": TypeAdapter(FileCount),
    "file": TypeAdapter(FileLine),
}
_CALL: TypeAdapter[Any] = TypeAdapter(CallLine)


def lines_of_record(path: Path) -> Iterator[Line]:
    """Yield the lines of the record in `path`; none without a record.

    An incomplete last line is ignored: its process was killed. Raises UserError for a line that no
    fallback wrote, for anything but a regular file, and above 256 MiB or a million lines: the
    program may have written it.
    """
    with suppress(FileNotFoundError):
        for number, text in enumerate(lines_of_untrusted(path, _MOST_BYTES, MOST_LINES), 1):
            try:
                yield line_of(text)
            except ValueError as error:
                why = first_mistake(error) if isinstance(error, ValidationError) else error
                raise UserError(
                    f"{path}: line {number} is no record of a removed function or file: {why}; give"
                    " a fallback.jsonl as the fallback wrote it"
                ) from None


def line_of(line: bytes) -> Line:
    """Parse a line. Raises ValueError for one that no fallback wrote."""
    if len(line) > _MOST_BYTES_OF_A_LINE:
        raise ValueError(f"longer than {_MOST_BYTES_OF_A_LINE} bytes")
    # Names are bytes; invalid UTF-8 is written as in documents.
    text = _BYTE.sub(
        lambda found: f"\\\\x{ord(found[0]) - 0xDC00:02x}", line.decode(errors="surrogateescape")
    )
    document = parse_json(text)
    keys = document if isinstance(document, dict) else {}
    kind = next((_KINDS[key] for key in _KINDS if key in keys), _CALL)
    parsed: Line = kind.validate_json(text, strict=True)
    return parsed
