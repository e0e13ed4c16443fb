"""Which system and processor an image is for."""

import platform as python_platform
from dataclasses import dataclass
from typing import Self

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
    def of(cls, fields: Fields) -> Self:
        """Return what a descriptor's platform or an image's config says."""
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
