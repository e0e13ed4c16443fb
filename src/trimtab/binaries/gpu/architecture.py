"""GPU architectures, and the code that each GPU can load."""

import re
from dataclasses import dataclass
from typing import Literal, cast

from trimtab.errors import UserError

Variant = Literal["", "a", "f"]

# CUDA 13.0's release notes: "SM101 has been renumbered as SM110"; PTX ISA 9.0 says the same of
# sm_101a and sm_101f, and lists sm_101f in the family sm_11x.
_RENUMBERED = {101: 110}
_TEXT = re.compile(r"(?:sm_|compute_)?(?:(\d{2,3})|(\d{1,2})\.(\d))([af]?)", re.ASCII)


@dataclass(frozen=True, slots=True, order=True)
class Architecture:
    """A compute capability, as in sm_90a: `number` 90, `variant` a (one GPU only) or f (family)."""

    number: int
    variant: Variant = ""

    def __str__(self) -> str:
        return f"sm_{self.number}{self.variant}"


def parse_architecture(text: str) -> Architecture:
    """Return the architecture written as `sm_90a`, `compute_90a`, `90a` or `9.0a`.

    Raises UserError for any other `text`.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{text!r} is no GPU architecture; write it like sm_90a or 9.0")
    whole, major, minor, variant = match.groups()
    return Architecture(int(whole or major + minor), cast(Variant, variant))


def can_load(code: Architecture, gpu: int) -> bool:
    """Whether a GPU of compute capability `gpu` (90 for 9.0) can load a cubin for `code`.

    CUDA C++ Programming Guide, "Binary Compatibility": same major revision, minor not above the
    GPU's; an 'a' variant fits this one capability, an 'f' variant the later ones of its family
    (PTX ISA, "Architecture Families": the families are the major revisions sm_10x, 11x and 12x).
    """
    number, gpu = _today(code.number), _today(gpu)
    if code.variant == "a":
        return number == gpu
    return number // 10 == gpu // 10 and number <= gpu


def ptx_fits(code: Architecture, gpu: int) -> bool:
    """Whether the driver can compile PTX for `code` on a GPU of compute capability `gpu`.

    PTX ISA, directive `.target`: any later GPU; an 'a' variant fits this one capability, an 'f'
    variant the later ones of its family.
    """
    if code.variant:
        return can_load(code, gpu)
    return _today(code.number) <= _today(gpu)


def preference(code: Architecture) -> int:
    """Return a rank: a GPU takes a cubin of the highest rank that it can load from a region.

    Variants of one number have the same rank. Driver 580 prefers sm_90a to sm_90 on an H200, but no
    document says so.
    """
    return _today(code.number)


def _today(number: int) -> int:
    return _RENUMBERED.get(number, number)
