"""GPU architectures, and which code a GPU can load."""

from dataclasses import dataclass
from typing import Literal

Variant = Literal["", "a", "f"]


@dataclass(frozen=True, slots=True, order=True)
class Architecture:
    """A compute capability, as in sm_90a: `number` 90, `variant` a (this GPU only) or f (family)."""

    number: int
    variant: Variant = ""

    def __str__(self) -> str:
        return f"sm_{self.number}{self.variant}"
