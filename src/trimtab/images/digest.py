"""Digests by which images name what they are made of: `sha256:` and hexadecimal digits."""

import hashlib
import re
from collections.abc import Iterable, Iterator

from trimtab.images.errors import DamagedError

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128}")
_LONGEST_SHOWN = 150


def check_digest(text: str) -> str:
    """Return `text`. Raises DamagedError where it is no digest of a kind that we can compute."""
    if not _DIGEST.fullmatch(text):
        raise DamagedError(
            f"{text[:_LONGEST_SHOWN]!r} is no digest; expected sha256: or sha512: and its digits"
        )
    return text


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of `data` as images write it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def check_data(data: bytes, digest: str) -> bytes:
    """Return `data`. Raises DamagedError unless `digest` is its."""
    for _ in checked([data], digest):
        pass
    return data


def checked(pieces: Iterable[bytes], digest: str) -> Iterator[bytes]:
    """Yield `pieces`. Raises DamagedError behind the last one unless `digest` is theirs."""
    algorithm, _, expected = digest.partition(":")
    found = hashlib.new(algorithm)
    for piece in pieces:
        found.update(piece)
        yield piece
    if found.hexdigest() != expected:
        raise DamagedError(
            f"has the digest {algorithm}:{found.hexdigest()}, but {digest} was expected: it was"
            " damaged or changed; get the image again"
        )
