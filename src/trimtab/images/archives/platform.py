"""The system and processor of an image."""

import platform as python_platform
from dataclasses import dataclass
from typing import Self

from trimtab.images.archives.fields import Fields

# Go's names, which images use.
_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "i686": "386",
}
_SAME_AS_NONE = {("arm64", "v8"), ("amd64", "v1"), ("arm", "v7")}


@dataclass(frozen=True)
class Platform:
    """A system, an architecture and, if it is not the usual one, its variant."""

    system: str
    architecture: str
    variant: str = ""

    @classmethod
    def of(cls, fields: Fields) -> Self:
        """Return the platform in a descriptor or an image's config."""
        architecture, variant = fields.text("architecture", ""), fields.text("variant", "")
        if (architecture, variant) in _SAME_AS_NONE:
            variant = ""
        return cls(fields.text("os", "linux"), architecture, variant)

    @classmethod
    def here(cls) -> Self:
        """Return the platform of this machine."""
        machine = python_platform.machine()
        return cls("linux", _ARCHITECTURES.get(machine, machine))

    def __str__(self) -> str:
        variant = f"/{self.variant}" if self.variant else ""
        return f"{self.system}/{self.architecture}{variant}"
