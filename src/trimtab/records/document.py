"""A JSON document between two stages: typed, versioned, written atomically."""

import json
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from trimtab.errors import TrimtabError, UserError
from trimtab.files import atomic_write, parse_json, read_limited

# For every part of a document: no unknown keys, no infinities.
PART = ConfigDict(extra="forbid", allow_inf_nan=False)
_NO_OBJECT = object()
_SHOWN = 200  # characters of an invalid value


class Document(BaseModel):
    """The base of every document; a subclass names its version and the stage that writes it.

    Documents of more than `most_bytes` are refused: reading takes up to thirty times as much
    memory.

    `version` increases if the meaning of a file changes. Files of other versions are refused, but
    for `reads_too`: of these, a class reads each key as its newest version has it.
    """

    model_config = PART | ConfigDict(frozen=True)
    stage: ClassVar[str]
    most_bytes: ClassVar[int] = 1 << 24
    reads_too: ClassVar[tuple[int, ...]] = ()
    version: int

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the document in `path`, with every value checked.

        Raises UserError if it is missing, and TrimtabError if it is damaged or of another version;
        both name the file and the stage to run.
        """
        again = f"run the stage `{cls.stage}` again"
        try:
            text = read_limited(path, cls.most_bytes)
        except FileNotFoundError:
            raise UserError(f"{path}: missing; run the stage `{cls.stage}` first") from None
        except TrimtabError as error:
            raise TrimtabError(f"{error}; {again}") from None
        try:
            version = _version(text)
        except ValueError as error:
            raise TrimtabError(f"{path}: not JSON: {error}; {again}") from None
        if version is _NO_OBJECT:
            raise TrimtabError(f"{path}: expected an object; {again}")
        expected = cls.model_fields["version"].default
        if version not in (expected, *cls.reads_too) or isinstance(version, bool):
            given = "no version" if version is None else f"version {str(version)[:_SHOWN]}"
            raise TrimtabError(f"{path}: has {given}, this trimtab reads {expected}; {again}")
        try:
            return cls.model_validate_json(text, strict=True)  # strict: no string for a number
        except ValidationError as error:
            raise TrimtabError(f"{path}: {first_mistake(error)}; {again}") from None

    def write(self, path: Path) -> None:
        """Write the document as readable JSON with sorted keys.

        Raises TrimtabError, and leaves the old file, for a document that `read` would refuse.
        """
        text = self.text_for(path)
        with atomic_write(path) as temporary:
            temporary.write_text(text)

    def text_for(self, path: Path) -> str:
        """Return the text of the document for the file `path`; raises as `write` does."""
        text = self.to_text()  # ASCII only
        if len(text) > self.most_bytes:
            raise TrimtabError(
                f"{path}: not written: {len(text):,} bytes, and of such a document at most"
                f" {self.most_bytes:,} are read"
            )
        return text

    def to_text(self) -> str:
        """Return the text of the document in its file."""
        return json.dumps(self.to_json(), indent=1, sort_keys=True) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return the document as plain lists, mappings, strings and numbers."""
        return self.model_dump(mode="json")


def _version(text: bytes) -> Any:
    document = parse_json(text)
    return document.get("version") if isinstance(document, dict) else _NO_OBJECT


def first_mistake(error: ValidationError) -> str:
    """Return the full key of the first mistake, if it has one, and the mistake."""
    first = error.errors(include_url=False, include_input=False)[0]
    steps = [step for step in first["loc"] if step != "[key]"]
    key = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    message = " ".join(first["msg"].removeprefix("Value error, ").split())
    key, message = key.lstrip(".")[:_SHOWN], message[: 2 * _SHOWN]
    return f"{key}: {message}" if key else message
