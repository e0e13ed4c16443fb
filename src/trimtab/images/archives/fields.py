"""Checked access to the JSON documents of an image."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from trimtab.files import parse_json
from trimtab.images.errors import DamagedError


@dataclass(frozen=True)
class Fields:
    """An object of a JSON document. Unexpected values raise DamagedError with the key."""

    values: Mapping[str, Any]
    where: str = ""

    @classmethod
    def parse(cls, data: bytes) -> Self:
        """Parse a document that is an object."""
        document = _json(data)
        if not isinstance(document, dict):
            raise DamagedError("not a JSON object")
        return cls(document)

    def has(self, key: str) -> bool:
        """Return whether the key has a value; Go writes null for none."""
        return self.values.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string; without `default` it is required."""
        value: str = self._of(key, str, "a text", default)
        return value

    def number(self, key: str) -> int:
        """Return a whole number that is not negative."""
        value: int = self._of(key, int, "a number", None)
        if isinstance(value, bool) or value < 0:
            raise self._wrong(key, "a number")
        return value

    def object(self, key: str) -> "Fields":
        """Return an object; an empty one if it is missing."""
        return Fields(self._of(key, dict, "an object", {}), f"{self.where}{key}.")

    def objects(self, key: str) -> Iterator["Fields"]:
        """Yield the objects of a list; none if it is missing."""
        for position, value in enumerate(self._of(key, list, "a list", [])):
            if not isinstance(value, dict):
                raise self._wrong(f"{key}[{position}]", "an object")
            yield Fields(value, f"{self.where}{key}[{position}].")

    def texts(self, key: str) -> list[str]:
        """Return a list of strings; empty if it is missing."""
        values = self._of(key, list, "a list", [])
        if not all(isinstance(value, str) for value in values):
            raise self._wrong(key, "a list of texts")
        return list(values)

    def text_by_key(self, key: str) -> dict[str, str]:
        """Return an object with strings as values; empty if it is missing."""
        values = self._of(key, dict, "an object", {})
        if not all(isinstance(value, str) for value in values.values()):
            raise self._wrong(key, "an object of texts")
        return dict(values)

    def _of(self, key: str, kind: type, words: str, default: Any) -> Any:
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, kind):
            raise self._wrong(key, words)
        return value

    def _wrong(self, key: str, words: str) -> DamagedError:
        return DamagedError(f"{self.where}{key}: expected {words}")


def parse_objects(data: bytes) -> list[Fields]:
    """Return the objects of a document that is a list. Raises DamagedError for any other."""
    document = _json(data)
    if not isinstance(document, list) or not all(isinstance(value, dict) for value in document):
        raise DamagedError("not a JSON list of objects")
    return [Fields(value, f"[{position}].") for position, value in enumerate(document)]


def _json(data: bytes) -> Any:
    try:
        return parse_json(data)
    except ValueError as error:
        raise DamagedError(f"not JSON ({error})") from None
