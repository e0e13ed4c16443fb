"""A library's path in its environment as the name of one file; no two paths have the same.

The rule stands a second time in `native/fallback/flat_name.c`.
"""

import hashlib
import os
import re

# With what is added (`.removed`, a temporary's letters) it stays below the 255 bytes of a name.
_LONGEST_BYTES = 200
_READABLE_BYTES = 64
_OTHER = re.compile(rb"[^A-Za-z0-9._+-]")


def flat_name(name: str) -> str:
    """Return `name`, a relative path without empty parts, with `/` written as `__`.

    Where another path would give the same, or a name of more than 200 bytes, it is the end of
    `name`, four underscores (which the first way never gives) and half of its SHA-256.
    """
    path = os.fsencode(name)
    flat = path.replace(b"/", b"__")
    if flat.replace(b"__", b"/") != path or len(flat) > _LONGEST_BYTES:
        digest = hashlib.sha256(path).hexdigest()[:32]
        flat = _OTHER.sub(b"_", path[-_READABLE_BYTES:]) + b"____" + digest.encode()
    return os.fsdecode(flat)
