"""Which system and processor an image is for."""

import platform as python_platform
from dataclasses import dataclass
from typing import Self

from trimtab.errors import UserError
from trimtab.images.archives.fields import Fields

# As Go calls them, whose names images have.
_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "i686": "386",
}
_SAME_AS_NONE = {("arm64", "v8"), ("amd64", "v1"), ("arm", "v7")}


@dataclass(frozen=True)
class Platform:
    """A system, an architecture and, where it has one that is not the usual, its variant."""

    system: str
    architecture: str
    variant: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the platform that is written as `linux/arm64` or `linux/arm/v6`.

        Raises UserError for anything else.
        """
        parts = text.split("/")
        if len(parts) not in (2, 3) or not all(parts):
            raise UserError(f"platform {text!r}: expected SYSTEM/ARCHITECTURE, as linux/amd64")
        return cls._usual(*parts)

    @classmethod
    def of(cls, fields: Fields) -> Self:
        """Return what a descriptor's platform or an image's config says."""
        return cls._usual(
            fields.text("os", "linux"), fields.text("architecture", ""), fields.text("variant", "")
        )

    @classmethod
    def here(cls) -> Self:
        """Return the platform of this machine."""
        machine = python_platform.machine()
        return cls("linux", _ARCHITECTURES.get(machine, machine))

    @classmethod
    def _usual(cls, system: str, architecture: str, variant: str = "") -> Self:
        if (architecture, variant) in _SAME_AS_NONE:
            variant = ""
        return cls(system, architecture, variant)

    def __str__(self) -> str:
        variant = f"/{self.variant}" if self.variant else ""
        return f"{self.system}/{self.architecture}{variant}"
