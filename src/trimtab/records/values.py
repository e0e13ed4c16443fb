"""The types of values in documents, checked on reading, as documents are untrusted.

A file name may hold bytes that are not UTF-8. In Python they are as os.fsdecode returns them. In a
document, whose text is UTF-8, such a byte is written as `\\xff`, and a backslash twice.
"""

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    ValidationInfo,
)

_LARGEST = (1 << 63) - 1  # the limit of whole numbers in Parquet and numpy
_PATH_CHARACTERS = 4096  # PATH_MAX
_ESCAPED = re.compile(r"\\(\\|x[89a-f][0-9a-f])")
_BYTE = re.compile(r"[\udc80-\udcff]")

Whole = Annotated[int, Field(ge=0, le=_LARGEST)]  # counts, sizes in bytes, addresses
AboveZero = Annotated[int, Field(ge=1, le=_LARGEST)]
Measure = Annotated[float, Field(ge=-1e18, le=1e18)]
Amount = Annotated[Measure, Field(ge=0)]  # seconds, joules
Share = Annotated[float, Field(ge=0, le=1)]
Digest = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\z")]  # a SHA-256
BuildId = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]*\z", max_length=1024)]
ExitCode = Annotated[int, Field(ge=-128, le=255)]  # negative: the signal that ended it
Word = Annotated[str, StringConstraints(pattern=r"\A[a-z0-9_]+\z", max_length=255)]


def one_of(*words: str) -> AfterValidator:
    """Return a check that refuses any text other than `words`."""

    def check(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} given, expected one of {', '.join(words)}")
        return text

    return AfterValidator(check)


EnergySource = Annotated[str, one_of("measured", "modelled", "unknown", "")]


def escaped(name: str) -> str:
    """Return a file name as UTF-8 text, with escapes for bytes that are not UTF-8."""
    return _BYTE.sub(_as_escape, name.replace("\\", "\\\\"))


def _utf8(value: Any) -> Any:
    return _BYTE.sub(_as_escape, value) if isinstance(value, str) else value


def _as_escape(found: re.Match[str]) -> str:
    return f"\\x{ord(found[0]) - 0xDC00:02x}"


# Text for people; bytes that are not UTF-8 are shown as in documents.
Text = Annotated[
    str,
    BeforeValidator(_utf8),
    StringConstraints(pattern=r"\A[^\x00]*\z", max_length=1 << 20),
]


def unescaped(text: str) -> str:
    """Return the name from which `escaped` made a text."""
    return _ESCAPED.sub(
        lambda found: "\\" if found[1] == "\\" else chr(0xDC00 + int(found[1][1:], 16)), text
    )


def _path(value: Any, info: ValidationInfo) -> str:
    if not isinstance(value, str):
        raise ValueError("expected the name of a file, a text")
    name = unescaped(value) if info.mode == "json" else value
    if "\0" in name or len(name) > _PATH_CHARACTERS:
        raise ValueError(f"expected the name of a file, of up to {_PATH_CHARACTERS} characters")
    return name


def _inside(value: Any, info: ValidationInfo) -> str:
    name = _path(value, info)
    if any(part in ("", ".", "..") for part in name.split("/")):
        raise ValueError(f"{escaped(name)!r} leads out of its folder; expected a path below it")
    return name


def _absolute(value: Any, info: ValidationInfo) -> str:
    name = _path(value, info)
    # One file has one name: a second one, such as with `//`, would look like another file.
    root, *parts = name.split("/")
    if root or not parts or (name != "/" and not {"", ".", ".."}.isdisjoint(parts)):
        raise ValueError(f"{escaped(name)!r}: expected an absolute path without `..`, `.` and `//`")
    return name


_AS_TEXT = PlainSerializer(escaped)
AnyPath = Annotated[str, PlainValidator(_path), _AS_TEXT]  # a program's own spelling, or empty
PathInside = Annotated[str, PlainValidator(_inside), _AS_TEXT]  # a folder, such as `lib/x.so`
AbsolutePath = Annotated[str, PlainValidator(_absolute), _AS_TEXT]
