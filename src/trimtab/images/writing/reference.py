"""Image names: [HOST/]PATH[:TAG], as engines write and complete them."""

import re
from dataclasses import dataclass
from typing import Self

from trimtab.errors import UserError

_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"(?:localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9.-]+(?=:))(?::[0-9]+)?"
_NAME = re.compile(
    rf"(?:(?P<host>{_HOST})/)?(?P<path>{_PART}(?:/{_PART})*)(?::(?P<tag>\w[\w.-]*))?", re.ASCII
)
_MOST_CHARACTERS, _MOST_TAG = 255, 128
_HUB = "docker.io"


@dataclass(frozen=True)
class Reference:
    """The name of an image; one without a host is in Docker's own registry."""

    host: str
    path: str
    tag: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a name; the tag defaults to `latest`. Raises UserError for an invalid name."""
        match = _NAME.fullmatch(text)
        tag = (match["tag"] if match else None) or "latest"
        if not match or len(text) > _MOST_CHARACTERS or len(tag) > _MOST_TAG:
            raise UserError(
                f"{text[:_MOST_CHARACTERS]!r} is no name of an image; expected NAME:TAG, in small"
                " letters, digits and . _ - /"
            )
        return cls(match["host"] or "", match["path"], tag)

    def __str__(self) -> str:
        """Return the short form."""
        return f"{self.host}/{self.path}:{self.tag}" if self.host else f"{self.path}:{self.tag}"

    @property
    def whole(self) -> str:
        """The full form, as engines complete it."""
        path = self.path if self.host or "/" in self.path else f"library/{self.path}"
        return f"{self.host or _HUB}/{path}:{self.tag}"
