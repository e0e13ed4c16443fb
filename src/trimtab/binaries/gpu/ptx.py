"""The kernels of PTX, the text that the driver compiles for a GPU."""

import re

# PTX ISA, ".entry": the name follows the directive; identifiers may hold $ and begin with %.
_ENTRY = re.compile(rb"\.entry\s+([\w$%]+)")
_MOST_KERNELS = 1 << 20


class PtxError(ValueError):
    """A text has more kernels than any real program."""


def ptx_kernels(text: bytes) -> frozenset[str]:
    """Return the names of the kernels of a PTX text. Raises PtxError above a million of them."""
    names: set[bytes] = set()
    for match in _ENTRY.finditer(text):
        names.add(match[1])
        if len(names) > _MOST_KERNELS:
            raise PtxError(f"names more than {_MOST_KERNELS} kernels")
    return frozenset(name.decode() for name in names)
