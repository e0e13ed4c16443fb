"""Names of images in registries: HOST/REPOSITORY, with a tag or a digest."""

import re
from dataclasses import dataclass
from typing import Self

from trimtab.errors import UserError
from trimtab.images.writing.reference import Reference

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class RegistryName:
    """The name of an image in a registry; `reference` is its tag or digest."""

    host: str
    repository: str
    reference: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse HOST[:PORT]/REPOSITORY[:TAG], or with @DIGEST. Raises UserError for any other."""
        name, _, digest = text.partition("@")
        found = Reference.parse(name)
        if not found.host:
            raise UserError(
                f"{text}: names no registry; expected HOST/REPOSITORY:TAG, as in"
                f" registry.example.com/{found.path}:{found.tag}"
            )
        if digest and not _DIGEST.fullmatch(digest):
            raise UserError(f"{text}: {digest[:80]!r} is no digest; expected sha256: and 64 digits")
        return cls(found.host, found.path, digest or found.tag)

    def __str__(self) -> str:
        return f"{self.host}/{self.repository}{self._separator}{self.reference}"

    @property
    def _separator(self) -> str:
        return "@" if _DIGEST.fullmatch(self.reference) else ":"

    def at(self, digest: str) -> str:
        """Return the name of what has this digest in the same repository."""
        return f"{self.host}/{self.repository}@{digest}"
